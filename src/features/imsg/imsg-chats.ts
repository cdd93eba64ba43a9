import { type Conversation, isPosternError, type PosternClient } from '../../client/postern-client.ts';
import type { Clock } from '../../core/model/ports/host-ports.ts';
import { notStarted, RPC, RpcError } from './rpc-error.ts';

/** How long the members and the name of a conversation are cached. */
const KNOWN_MS = 60_000;
const MAX_CHATS = 5000;
/** HTTP statuses of the answer to a request whose path is invalid or too long. */
const UNASKABLE: ReadonlySet<number> = new Set([400, 414, 431]);
/** Matches the conversation ids of a hub. They begin with the id of a Mac. */
const AT_A_HUB = /^[a-z0-9-]{1,32}~/;

/** A conversation and its number, which imsg calls `chat_id`. */
export interface ImsgChat {
  readonly number: number;
  readonly conversation: Conversation;
}

/** Looks up the conversations that the key may read, by id or by number. */
export class ImsgChats {
  readonly #client: Pick<PosternClient, 'conversation' | 'allConversations'>;
  readonly #clock: Clock;
  readonly #byId = new Map<string, { readonly chat: ImsgChat; readonly atMs: number }>();
  /** The id of the conversation that last had a number. After chat.db was replaced, it can be another one. */
  readonly #idByNumber = new Map<number, string>();

  constructor(client: Pick<PosternClient, 'conversation' | 'allConversations'>, clock: Clock) {
    this.#client = client;
    this.#clock = clock;
  }

  /** Returns the newest conversations first, at most `limit`. `isUnreadOnly` skips those without unread messages. */
  async list(limit: number, isUnreadOnly: boolean): Promise<readonly ImsgChat[]> {
    const chats: ImsgChat[] = [];
    for await (const chat of this.#all()) {
      if (isUnreadOnly && (chat.conversation.details?.unread_count ?? 0) === 0) continue;
      chats.push(chat);
      if (chats.length >= limit) break;
    }
    return chats;
  }

  /**
   * Returns the conversation; undefined for "", the id in a message without a conversation. If the id cannot be part of
   * a URL, searches the list of conversations for it.
   */
  async withId(id: string): Promise<ImsgChat | undefined> {
    if (id === '') return undefined;
    const known = this.#known(id);
    if (known !== undefined) return known;
    try {
      return this.#note(await this.#client.conversation(id, { include: ['details'] }));
    } catch (error) {
      if (!isPosternError(error) || !UNASKABLE.has(error.status)) throw error;
      for await (const chat of this.#all()) if (chat.conversation.id === id) return chat;
      return undefined;
    }
  }

  /** Returns the conversation with this number. Throws `invalidParams` if the key may read no such conversation. */
  async withNumber(number: number): Promise<ImsgChat> {
    const known = this.#known(this.#idByNumber.get(number) ?? '');
    if (known?.number === number) return known;
    for await (const chat of this.#all()) if (chat.number === number) return chat;
    throw new RpcError(RPC.invalidParams, `There is no chat with chat_id ${number} that this key may read.`);
  }

  #known(id: string): ImsgChat | undefined {
    const known = this.#byId.get(id);
    return known !== undefined && this.#clock.monotonic() - known.atMs < KNOWN_MS ? known.chat : undefined;
  }

  async *#all(): AsyncGenerator<ImsgChat, void> {
    let looked = 0;
    for await (const conversation of this.#client.allConversations({ include: ['details'], junk: false })) {
      yield this.#note(conversation);
      looked += 1;
      if (looked >= MAX_CHATS) return;
    }
  }

  #note(conversation: Conversation): ImsgChat {
    const number = conversation.details?.chat_number;
    if (AT_A_HUB.test(conversation.id)) throw notStarted('A hub has no chat numbers: use a service on a Mac.', false);
    if (number === undefined) {
      throw new RpcError(RPC.internal, 'The service is older than this program: update the service, then restart it.');
    }
    const chat = { number, conversation };
    const before = this.#idByNumber.get(number);
    if (before !== undefined) this.#byId.delete(before);
    this.#idByNumber.set(number, conversation.id);
    this.#byId.set(conversation.id, { chat, atMs: this.#clock.monotonic() });
    return chat;
  }
}
