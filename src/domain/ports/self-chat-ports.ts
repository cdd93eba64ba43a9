import type { Message } from '../message.ts';
import type { Offset } from '../offset.ts';
import type { ReactionType } from '../reaction.ts';

/** The conversation with oneself in which the owner decides by tapback (decision L6), in the API's form. */
export interface SelfChatRecord {
  /** `approval.self`. */
  readonly address: string;
  /** Null until the owner has entered the code that arrived in the conversation. */
  readonly conversation_id: string | null;
  readonly proved_at: string | null;
}

/** The proof that a conversation is the owner's own. */
export interface SelfChatProof {
  readonly address: string;
  readonly chat: string;
  readonly provedMs: number;
}

/** A message in the self-chat that asks for a decision. */
export interface RequestMessage {
  readonly approvalId: string;
  /** Keyed hash of the text that the message had when it was stored. */
  readonly textHmac: string;
}

/** The stored state of the self-chat. A replaced chat.db erases it. */
export interface SelfChatStore {
  proof(): SelfChatProof | undefined;
  /**
   * Stores a proof and erases everything that belonged to the previous one. Events after `offset` are then examined.
   */
  prove(proof: SelfChatProof, offset: Offset): void;
  request(guid: string): RequestMessage | undefined;
  addRequest(guid: string, request: RequestMessage): void;
  /**
   * Counts one message towards the limit of messages that Postern writes into the self-chat; a repeated key counts
   * once. Returns undefined if the message may be written now, else the Unix milliseconds at which it may.
   */
  reserve(key: string, nowMs: number): number | undefined;
  forget(): void;
  /** Returns the position up to which events were examined. */
  offset(): Offset;
  progress(offset: Offset): void;
}

/** A message, and the owner's current tapback on it. */
export interface TapbackOn {
  readonly message: Message;
  readonly tapback:
    | { readonly type: ReactionType; readonly conversationId: string; readonly isIMessage: boolean }
    | undefined;
}

/**
 * The owner's messages and tapbacks in chat.db. Every method throws `chat_db_unavailable` while chat.db is unreadable.
 */
export interface OwnerInChatDb {
  /**
   * Returns the owner's addresses: those that recent messages were sent from or arrived at, and the last one used in
   * each chat.
   */
  addresses(): readonly string[];
  /** Returns undefined if the message does not exist. */
  tapbackOn(guid: string): TapbackOn | undefined;
}

/** The proof of the self-chat. Only for the owner. */
export interface SelfChats {
  /** Throws `self_chat_disabled` if none is configured. */
  get(): SelfChatRecord;
  /** Sends a code to the conversation. */
  sendCode(): Promise<SelfChatRecord>;
  /** Throws `code_wrong`. */
  prove(code: string): SelfChatRecord;
}
