import type { Names } from './names.ts';
import type { ServiceChoice } from './send-service.ts';

/** The states of a held send. Every state but `held` and `approved` is final. */
export const APPROVAL_STATES = [
  'held',
  'approved',
  'sent',
  /**
   * Approved, and waits for its `send_at`. `GET /scheduled/{id}` with the approval's id returns the outcome (decision
   * X1).
   */
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

/** A file of a held send, copied when the send was held. */
export interface HeldFile {
  readonly name: string;
  readonly bytes: number;
  readonly sha256: string;
}

/**
 * A send that waits for the owner's decision or has been decided. Its recipient, text and files never change, except
 * that the text is erased once the state is final.
 */
export interface Approval {
  readonly id: string;
  readonly key_id: string;
  readonly state: ApprovalState;
  /** The recipient's address or chat id. */
  readonly to: string;
  /** The addresses of everyone who will receive the message. */
  readonly members: readonly string[];
  /** The message's text; null once the state is final. */
  readonly text: string | null;
  readonly attachments: readonly HeldFile[];
  /** Absent if the send chooses no service (decision X3). */
  readonly service?: ServiceChoice | undefined;
  readonly fallback?: 'sms' | undefined;
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

/**
 * Returns the console's page on which the owner decides on a held send, as a path relative to the service's address.
 */
export function approvalInConsole(id: string): string {
  return `/console#/approvals/${id}`;
}

/** Reports whether the state is final. */
export function hasEnded({ state }: Pick<Approval, 'state'>): boolean {
  return state !== 'held' && state !== 'approved';
}
