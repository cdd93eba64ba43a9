import type { Offset } from '../../core/model/offset.ts';

/** Records that the owner proved, with a code, that `chat` is the conversation with `address`. */
export interface SelfChatProof {
  readonly address: string;
  readonly chat: string;
  readonly provedMs: number;
}

/** A message that Postern wrote into the self-chat to ask the owner a question. */
export interface QuestionMessage {
  readonly questionId: string;
  /** Keyed hash of the message's text at the time when this record was stored. */
  readonly textHmac: string;
}

/** The stored state of the self-chat. When chat.db is replaced, the proof and the questions are erased. */
export interface SelfChatStore {
  proof(): SelfChatProof | undefined;
  /**
   * Stores a proof, and erases the previous proof with its questions. Tapbacks are then looked for in the events after
   * `offset`.
   */
  prove(proof: SelfChatProof, offset: Offset): void;
  question(guid: string): QuestionMessage | undefined;
  /** Stores a message that asks. Forgets the oldest ones, about which nobody can decide any more. */
  addQuestion(guid: string, question: QuestionMessage): void;
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

/** Tells which conversation the owner has proved to be the self-chat. */
export interface ProvedSelfChat {
  /** Reports whether the address was proved. */
  isProved(): boolean;
  /** Returns when the address was proved, Unix milliseconds; undefined if it was not. */
  provedMs(): number | undefined;
  /**
   * Returns the proof of the address. Returns undefined if there is none, or if the proved conversation is no longer
   * one-to-one with that address.
   */
  proof(): SelfChatProof | undefined;
}

/** Something that the owner can decide with a tapback. */
export interface OwnerQuestion {
  readonly id: string;
  /** The exact text of the message that asks; undefined if it is too long for a message. */
  readonly text: string | undefined;
}

/** The questions of another feature. */
export interface Questions {
  /** Returns those that nobody has decided yet. */
  open(): readonly OwnerQuestion[];
  /** Throws if the question does not wait for a decision any more. */
  assertOpen(id: string): void;
  /** Decides. Does nothing if it is too late. */
  decide(id: string, isAccepted: boolean): void;
  /** Returns a keyed hash of a text, by which its message is recognised. */
  hmac(text: string): string;
}
