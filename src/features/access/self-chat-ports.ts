import type { SelfChatRecord } from '../../client/access-types.ts';
import type { Offset } from '../../core/model/offset.ts';

/** Records that the owner proved, with a code, that `chat` is the conversation with `address`. */
export interface SelfChatProof {
  readonly address: string;
  readonly chat: string;
  readonly provedMs: number;
}

/** A message that Postern wrote into the self-chat to ask the owner about a held send. */
export interface RequestMessage {
  readonly approvalId: string;
  /** Keyed hash of the message's text at the time when this record was stored. */
  readonly textHmac: string;
}

/** The stored state of the self-chat. When chat.db is replaced, the proof and the requests are erased. */
export interface SelfChatStore {
  proof(): SelfChatProof | undefined;
  /**
   * Stores a proof, and erases the previous proof with its requests. Tapbacks are then looked for in the events after
   * `offset`.
   */
  prove(proof: SelfChatProof, offset: Offset): void;
  request(guid: string): RequestMessage | undefined;
  addRequest(guid: string, request: RequestMessage): void;
  /**
   * Counts one message towards the hourly limit of messages that Postern writes into the self-chat. A repeated `key`
   * counts once. Returns undefined if the message may be written now, else the earliest time at which it may be
   * written, in Unix milliseconds.
   */
  reserve(key: string, nowMs: number): number | undefined;
  forget(): void;
  /** Returns the position up to which events have been examined for tapbacks. */
  offset(): Offset;
  progress(offset: Offset): void;
}

/** Lets the owner prove which conversation is the self-chat. Not available to limited keys. */
export interface SelfChats {
  /**
   * Returns the current self-chat. Throws `self_chat_disabled` if no address is
   * configured.
   */
  get(): SelfChatRecord;
  /**
   * Sends a code to the configured address. The owner reads the code in Messages. Passing the code to `prove` proves
   * the conversation.
   */
  sendCode(): Promise<SelfChatRecord>;
  /** Throws `code_wrong`. */
  prove(code: string): SelfChatRecord;
}
