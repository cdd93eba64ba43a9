import type { Message } from '../message.ts';
import type { Offset } from '../offset.ts';
import type { ReactionType } from '../reaction.ts';

/** The conversation with oneself in which the owner decides by tapback (decision L6), as the API shows it. */
export interface SelfChatRecord {
  /** `approval.self`. */
  readonly address: string;
  /** null until the owner typed the code that he read there. */
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
  /** Keyed hash of its text when it was stored. */
  readonly textHmac: string;
}

/** What is kept about the self-chat. All of it is gone when chat.db was replaced. */
export interface SelfChatStore {
  proof(): SelfChatProof | undefined;
  /** Forgets what was stored under an earlier proof; events are looked at after `offset`. */
  prove(proof: SelfChatProof, offset: Offset): void;
  request(guid: string): RequestMessage | undefined;
  addRequest(guid: string, request: RequestMessage): void;
  /**
   * Counts a message that Postern is about to write into the self-chat; a key that was counted before is not counted
   * again. Returns undefined if it may be written, else when there is room.
   */
  reserve(key: string, nowMs: number): number | undefined;
  forget(): void;
  /** Everything up to here was looked at. */
  offset(): Offset;
  progress(offset: Offset): void;
}

/** A message, and the owner's tapback that is on it now. */
export interface TapbackOn {
  readonly message: Message;
  readonly tapback:
    | { readonly type: ReactionType; readonly conversationId: string; readonly isIMessage: boolean }
    | undefined;
}

/** What chat.db says about the owner. Every method throws AppError `chat_db_unavailable` while it cannot be read. */
export interface OwnerInChatDb {
  /** Addresses that messages were lately sent from or came to, as stored. */
  addresses(): readonly string[];
  /** undefined when there is no such message. */
  tapbackOn(guid: string): TapbackOn | undefined;
}

/** Of the owner alone: the proof of the self-chat. */
export interface SelfChats {
  /** Throws `self_chat_disabled` where none is configured. */
  get(): SelfChatRecord;
  /** Writes a code into the conversation. */
  sendCode(): Promise<SelfChatRecord>;
  /** Throws `code_wrong`. */
  prove(code: string): SelfChatRecord;
}
