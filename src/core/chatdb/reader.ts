import type { Conversation } from '../model/conversation.ts';
import type { MessageDetails } from '../model/details.ts';
import { NO_INCLUDES } from '../model/include.ts';
import type { Message } from '../model/message.ts';
import type { Marks } from '../model/narrowing.ts';
import type {
  ConversationQuery,
  MessageQuery,
  MessageReader,
  NamedChat,
  Page,
  ReadOptions,
} from '../model/ports/reading-ports.ts';
import type { Reaction, ReactionDetails } from '../model/reaction.ts';
import type { ReaderThread } from '../runtime/reader-thread.ts';
import type { Connection } from './connection.ts';
import { conversationOf, listedPage, shownPage } from './conversation-list.ts';
import { ListReader } from './list-reader.ts';
import { conversationMarks, messageMarks } from './marks.ts';
import { messageOf } from './message.ts';
import { costOfChats, isFast, MAX_ROWS_AT_ONCE, messagePage } from './message-page.ts';
import { RecentConversations } from './recent-conversations.ts';
import { rowIdOf } from './row-id.ts';

/**
 * Maximum number of conversations, including skipped ones, that the main thread reads for one list. Longer lists go to
 * the reader thread.
 */
const MAX_CONVERSATIONS_AT_ONCE = 250;
type Complete = (message: Message, details: MessageDetails) => MessageDetails;

/**
 * Reads messages and conversations from chat.db. Performs short reads itself, and passes longer ones to the reader
 * thread, as well as everything that is decoded: nobody else waits for a row that is expensive to decode (decision
 * AB14).
 */
export class ChatReader implements MessageReader {
  readonly #connection: Connection;
  readonly #completed: Complete;
  readonly #lists: Lists;
  readonly #recent = new RecentConversations();
  #ordering: Promise<void> | undefined;
  #chats: { readonly of: unknown; readonly list: readonly NamedChat[] } | undefined;

  /** `completed` returns details with what chat.db does not say of the message. */
  constructor(
    connection: Connection,
    thread?: ReaderThread<{ readonly lists: ListReader }>,
    completed: Complete = (_message, details) => details,
  ) {
    this.#connection = connection;
    this.#completed = completed;
    this.#lists = thread === undefined ? new ListReader(connection) : threadLists(thread);
  }

  async listMessages(query: MessageQuery): Promise<Page<Message>> {
    const page = this.#connection.read((snapshot) =>
      isFast(snapshot, query) ? messagePage(snapshot, query) : undefined,
    );
    const read = page ?? (await this.#lists.messages(query));
    if (query.include?.has('details') !== true) return read;
    return { ...read, items: read.items.map((message) => this.#withCompleted(message)) };
  }

  async message(id: string, { include = NO_INCLUDES }: ReadOptions = {}): Promise<Message | undefined> {
    if (include.has('details')) {
      const found = await this.#lists.message(id, { include });
      return found && this.#withCompleted(found);
    }
    return this.#connection.read((snapshot) => {
      const rowId = rowIdOf(id, snapshot);
      return rowId === undefined ? undefined : messageOf(snapshot, rowId);
    });
  }

  async details(message: Message): Promise<MessageDetails | undefined> {
    const details = await this.#lists.details(message);
    return details && this.#completed(message, details);
  }

  #withCompleted(message: Message): Message {
    const { details } = message;
    return details === undefined ? message : { ...message, details: this.#completed(message, details) };
  }

  /**
   * Returns the details of a row that the API reports as a reaction although the row belongs to a poll or an app.
   * Returns undefined for a tapback or a sticker, and if the row is gone.
   */
  async reactionDetails(reaction: Reaction): Promise<ReactionDetails | undefined> {
    return this.#lists.reactionDetails(reaction);
  }

  async listConversations(query: ConversationQuery): Promise<Page<Conversation>> {
    const { limit, offset } = query;
    if (query.ids !== undefined || offset + limit > MAX_CONVERSATIONS_AT_ONCE) return this.#lists.conversations(query);
    let page = this.#conversationsAtOnce(query);
    if (page === undefined) {
      await this.#readOrder();
      page = this.#conversationsAtOnce(query);
    } else if (this.#recent.isOld) void this.#readOrder().catch(() => undefined);
    return page ?? this.#lists.conversations(query);
  }

  /** Returns the same list until the next commit. */
  async chats(): Promise<readonly NamedChat[]> {
    const of = this.#connection.snapshot();
    const kept = this.#chats;
    if (kept !== undefined && kept.of === of) return kept.list;
    const list = await this.#lists.chats();
    this.#chats = { of, list };
    return list;
  }

  async conversation(id: string, options: ReadOptions = {}): Promise<Conversation | undefined> {
    const { include = NO_INCLUDES } = options;
    const found = this.#connection.read((snapshot) =>
      !include.has('details') && costOfChats(snapshot, id) <= MAX_ROWS_AT_ONCE
        ? { conversation: conversationOf(snapshot, id, options) }
        : undefined,
    );
    return found === undefined ? this.#lists.conversation(id, { include }) : found.conversation;
  }

  marks(what: 'messages' | 'conversations', ids: readonly string[]): ReadonlyMap<string, Marks> {
    return what === 'messages' ? messageMarks(this.#connection, ids) : conversationMarks(this.#connection, ids);
  }

  /** Returns a page whose order takes at most `MAX_ROWS_AT_ONCE` reads; undefined if it takes more. */
  #conversationsAtOnce(query: ConversationQuery): Page<Conversation> | Promise<Page<Conversation>> | undefined {
    const { include = NO_INCLUDES } = query;
    const found = this.#connection.read((snapshot) => {
      const listed = listedPage(snapshot, this.#recent, query, MAX_ROWS_AT_ONCE);
      if (listed === undefined) return undefined;
      return { listed, ...(!include.has('details') && { page: shownPage(snapshot, listed, query) }) };
    });
    return found && (found.page ?? this.#lists.listedConversations(found.listed, { include }));
  }

  /** Rebuilds the order of the conversations. A call during a rebuild waits for that rebuild and starts no other. */
  #readOrder(): Promise<void> {
    this.#ordering ??= this.#makeOrder().finally(() => {
      this.#ordering = undefined;
    });
    return this.#ordering;
  }

  async #makeOrder(): Promise<void> {
    const made = await this.#lists.order();
    this.#connection.read((snapshot) => {
      // Another file may have replaced chat.db while the order was read.
      if (made?.fileId === this.#connection.fileId) this.#recent.restore(snapshot, made.order);
    });
  }
}

/** The methods of a `ListReader`, in this thread or in the reader thread. */
type Lists = {
  readonly [Method in Exclude<keyof ListReader, 'survey'>]: (
    ...args: Parameters<ListReader[Method]>
  ) => ReturnType<ListReader[Method]> | Promise<ReturnType<ListReader[Method]>>;
};

/** Returns the methods of the `ListReader` in the reader thread. */
function threadLists(thread: ReaderThread<{ readonly lists: ListReader }>): Lists {
  return {
    messages: (query) => thread.call('lists', 'messages', query),
    message: (...args) => thread.call('lists', 'message', ...args),
    details: (message) => thread.call('lists', 'details', message),
    reactionDetails: (reaction) => thread.call('lists', 'reactionDetails', reaction),
    conversation: (...args) => thread.call('lists', 'conversation', ...args),
    chats: () => thread.call('lists', 'chats'),
    conversations: (query) => thread.call('lists', 'conversations', query),
    listedConversations: (...args) => thread.call('lists', 'listedConversations', ...args),
    order: () => thread.call('lists', 'order'),
  };
}
