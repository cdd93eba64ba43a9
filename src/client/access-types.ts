import type { KeptFile } from '../core/model/kept-file.ts';
import type { Names } from '../core/model/names.ts';
import type { SendChoices } from '../core/model/send-service.ts';

/** A URL that contains a sign-in code. Opening it signs the browser in. */
export interface SignInCode {
  readonly url: string;
  /** When the code expires. */
  readonly expires_at: string;
}

/** The states of a held send. Every state but `held` and `approved` is final. */
export const APPROVAL_STATES = [
  'held',
  'approved',
  'sent',
  /** Approved, and waits for its `send_at`. `GET /scheduled/{id}` with the approval's id returns the outcome. */
  'scheduled',
  /** Handed to Messages, but the message's row in chat.db was not seen in time. */
  'pending',
  'failed',
  /** It is unknown whether the message was sent. */
  'unknown',
  'denied',
  'expired',
  'withdrawn',
  /** Approved, but expired or no longer permitted when it was about to be sent. */
  'void',
] as const;
export type ApprovalState = (typeof APPROVAL_STATES)[number];

/**
 * A send that waits for the owner's decision or has been decided. Its recipient, text and files never change, except
 * that the text is erased once the state is final.
 */
export interface Approval extends SendChoices {
  readonly id: string;
  readonly key_id: string;
  readonly state: ApprovalState;
  /** The recipient's address or chat id. */
  readonly to: string;
  /** The addresses of everyone who will receive the message. */
  readonly members: readonly string[];
  /** The message's text; null once the state is final. */
  readonly text: string | null;
  readonly attachments: readonly KeptFile[];
  readonly send_at?: string | undefined;
  readonly send_until?: string | undefined;
  readonly created_at: string;
  readonly expires_at: string;
  readonly decided_at: string | null;
  /** The id of the key that decided, `owner` for the owner's key, or `tapback` for the owner's tapback. */
  readonly decided_by: string | null;
  /** Row id of the sent message; null until its row was seen in chat.db. */
  readonly message_id: string | null;
  /** Code of the problem that ended the approval. */
  readonly problem: string | null;
  /**
   * Hash of the content to decide on; only for callers who may decide. They send the hash back when they approve, so
   * that they approve exactly this content.
   */
  readonly shown?: string | undefined;
  /** Names of the members, with `include=contacts`. */
  readonly names?: Names | undefined;
  /** True if the owner has never written to the recipient. Only with `include=contacts`, while the send is held. */
  readonly new_contact?: boolean | undefined;
}

/** One line of the audit log: who did what to whom, and with which outcome. Never contains a message's text. */
export interface AuditEntry {
  readonly id: number;
  /** ISO 8601 UTC. For a line that counts several occurrences, the time of the first. */
  readonly at: string;
  /** Id of the limited key; `owner` for the owner's key, `tapback` for the owner's tapbacks. */
  readonly key_id: string;
  readonly action: AuditAction;
  /**
   * A chat id, an address, the host that a webhook posts to, `OTHER_TARGETS`, or the id of a key, approval or webhook.
   */
  readonly target: string | null;
  /** The result of the action, or the code of the problem with which it was refused. */
  readonly outcome: string;
  /** Keyed hash of the message's text. With it, the owner can prove what the text was. */
  readonly text_hmac: string | null;
  /** How many equal occurrences this line stands for. */
  readonly count: number;
  /** The name of the target, with `include=contacts`. */
  readonly names?: Names | undefined;
}

export const AUDIT_ACTIONS = ['read', 'event', 'send', 'schedule', 'approval', 'refused', 'key', 'webhook'] as const;
export type AuditAction = (typeof AUDIT_ACTIONS)[number];

/**
 * The self-chat as the API shows it: the owner's conversation with themselves. There the owner decides about held
 * sends, with a tapback on the message that asks.
 */
export interface SelfChatRecord {
  /** The configured address of the owner. */
  readonly address: string;
  /** Null until the owner has proved the conversation, by entering the code that Postern sent to it. */
  readonly conversation_id: string | null;
  readonly proved_at: string | null;
}
