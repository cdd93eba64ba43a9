import { randomInt, randomUUID } from 'node:crypto';
import type { SelfChatRecord } from '../../client/access-types.ts';
import { normalAddress } from '../../core/model/address.ts';
import { resolveRecipient } from '../../core/model/destination.ts';
import { isoSecond } from '../../core/model/iso-second.ts';
import type { ChatDirectory } from '../../core/model/ports/directory-ports.ts';
import type { RowFeed } from '../../core/model/ports/feed-ports.ts';
import type { Clock } from '../../core/model/ports/host-ports.ts';
import type { MessageSender } from '../../core/model/ports/sending-ports.ts';
import type { OwnerInChatDb } from './owner-in-chatdb.ts';
import type { ProvedSelfChat, SelfChatProof, SelfChatStore } from './ports.ts';
import { selfChatProblem } from './problems.ts';

const CODE_LIFETIME_MS = 10 * 60_000;
const MAX_WRONG_CODES = 5;

export interface SelfChatParts {
  readonly store: SelfChatStore;
  readonly directory: ChatDirectory;
  readonly owner: OwnerInChatDb;
  readonly sender: MessageSender;
  readonly feed: Pick<RowFeed, 'lastPublished'>;
  readonly clock: Clock;
}

/** A code that Postern has sent. */
interface SentCode {
  readonly digits: string;
  readonly chat: string;
  readonly untilMs: number;
  wrong: number;
}

/**
 * The self-chat, the owner's conversation with themselves. The owner configures its address, and proves it by entering
 * a code that Postern sends there. Postern never guesses the address.
 */
export class SelfChat implements ProvedSelfChat {
  readonly #parts: SelfChatParts;
  readonly #onProved: ((chat: string) => void)[] = [];
  /** The address of the owner; "" if there is none. */
  readonly #address: string;
  #code: SentCode | undefined;

  constructor(parts: SelfChatParts, address: string) {
    this.#parts = parts;
    this.#address = address;
  }

  /** Calls `listener` with the id of each conversation that the owner proves. */
  onProved(listener: (chat: string) => void): void {
    this.#onProved.push(listener);
  }

  /** Returns the current self-chat. Throws `self_chat_disabled` if no address is configured. */
  get(): SelfChatRecord {
    if (this.#address === '') throw selfChatProblem('self_chat_disabled');
    const proved = this.proof();
    return {
      address: this.#address,
      conversation_id: proved?.chat ?? null,
      proved_at: proved === undefined ? null : isoSecond(proved.provedMs),
    };
  }

  /** Deletes a stored proof of another address. */
  isProved(): boolean {
    const { store } = this.#parts;
    const stored = store.proof();
    if (stored !== undefined && stored.address !== this.#address) store.forget();
    return stored?.address === this.#address;
  }

  provedMs(): number | undefined {
    return this.isProved() ? this.#parts.store.proof()?.provedMs : undefined;
  }

  proof(): SelfChatProof | undefined {
    const stored = this.#parts.store.proof();
    return stored?.address === this.#address && this.#isOwn(stored.chat) ? stored : undefined;
  }

  /**
   * Sends a code to the configured address. The owner reads the code in Messages. Passing the code to `prove` proves
   * the conversation.
   */
  async sendCode(): Promise<SelfChatRecord> {
    const { store, owner, directory, sender, clock } = this.#parts;
    const address = this.#address;
    const record = this.get();
    const isKnown = owner.addresses().some((own) => normalAddress(own) === address);
    // Sends a code only to an address that chat.db knows as one of the owner's.
    if (!isKnown || resolveRecipient(directory, address) === undefined) throw selfChatProblem('self_chat_unknown');
    const nowMs = clock.now();
    const freeAtMs = store.reserve(`\0code\0${randomUUID()}`, nowMs);
    if (freeAtMs !== undefined) {
      const seconds = Math.max(1, Math.ceil((freeAtMs - nowMs) / 1000));
      throw selfChatProblem('self_chat_full', { seconds }, { headers: { 'Retry-After': String(seconds) } });
    }
    this.#code = undefined;
    const digits = String(randomInt(1_000_000)).padStart(6, '0');
    const body = codeText(digits);
    const { confirmed, message } = await sender.send({ recipient: address, body, attachments: [] });
    const chat = message.conversation_id;
    if (!confirmed || !this.#isOwn(chat)) throw selfChatProblem('self_chat_unseen');
    this.#code = { digits, chat, untilMs: clock.monotonic() + CODE_LIFETIME_MS, wrong: 0 };
    return record;
  }

  /** Throws `code_wrong`. */
  prove(given: string): SelfChatRecord {
    this.get();
    const { store, feed, clock } = this.#parts;
    const code = this.#code;
    const isOpen = code !== undefined && clock.monotonic() < code.untilMs && code.wrong < MAX_WRONG_CODES;
    if (!isOpen || code.digits !== given.replaceAll(/\s/g, '') || !this.#isOwn(code.chat)) {
      if (code !== undefined) code.wrong += 1;
      throw selfChatProblem('code_wrong');
    }
    this.#code = undefined;
    store.prove({ address: this.#address, chat: code.chat, provedMs: clock.now() }, feed.lastPublished());
    for (const listener of this.#onProved) listener(code.chat);
    return this.get();
  }

  /** Reports whether `chat` is a one-to-one conversation with only the configured address. */
  #isOwn(chat: string): boolean {
    const destination = resolveRecipient(this.#parts.directory, this.#address);
    return destination?.address === this.#address && destination.chats.includes(chat);
  }
}

function codeText(digits: string): string {
  return (
    `Postern: ${digits} is the code of this conversation. Type it where you asked for it. ` +
    'Your tapbacks here then decide on waiting messages. ' +
    'If you did not ask for a code, somebody else has your key. Replace the key with "postern config rotate-key".'
  );
}
