import type { ServiceChoice } from './send-service.ts';

/** Where a held send is. Every state but `held` and `approved` is an end. */
export const APPROVAL_STATES = [
  'held',
  'approved',
  'sent',
  /** Handed to Messages; its row has not been seen. */
  'pending',
  'failed',
  /** Nobody knows whether it went out. */
  'unknown',
  'denied',
  'expired',
  'withdrawn',
  /** Approved, but not allowed any more when its turn came. */
  'void',
] as const;
export type ApprovalState = (typeof APPROVAL_STATES)[number];

/** A file of a held send. It was copied when it was held. */
export interface HeldFile {
  readonly name: string;
  readonly bytes: number;
  readonly sha256: string;
}

/** A send that waits for the owner's decision, or what became of it. Nothing of it changes but its state. */
export interface Approval {
  readonly id: string;
  readonly key_id: string;
  readonly state: ApprovalState;
  /** The address or chat id that it goes to. */
  readonly to: string;
  /** Who reads it. */
  readonly members: readonly string[];
  /** null once it ended. */
  readonly text: string | null;
  readonly attachments: readonly HeldFile[];
  /** Absent where the send asks for nothing (decision X3). */
  readonly service?: ServiceChoice | undefined;
  readonly fallback?: 'sms' | undefined;
  readonly created_at: string;
  readonly expires_at: string;
  readonly decided_at: string | null;
  /** The id of the key that decided, `owner` for the owner's, `tapback` for his tapback. */
  readonly decided_by: string | null;
  /** Row id of the message, once it was sent and seen. */
  readonly message_id: string | null;
  /** Code of the problem that ended it. */
  readonly problem: string | null;
  /** Hash of what is to be decided, for those who may decide. An approval names it, so that nothing else is approved. */
  readonly shown?: string | undefined;
}

/** True when nothing will happen to it any more. */
export function hasEnded({ state }: Pick<Approval, 'state'>): boolean {
  return state !== 'held' && state !== 'approved';
}
