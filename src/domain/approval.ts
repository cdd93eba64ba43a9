import type { Names } from './names.ts';
import type { ServiceChoice } from './send-service.ts';

/** The states of a held send. Every state but `held` and `approved` is final. */
export const APPROVAL_STATES = [
  'held',
  'approved',
  'sent',
  /** Goes out at its time: `GET /scheduled/{id}` with the same id tells how it ended (decision X1). */
  'scheduled',
  /** Handed to Messages; its row has not been seen. */
  'pending',
  'failed',
  /** It is unknown whether it was sent. */
  'unknown',
  'denied',
  'expired',
  'withdrawn',
  /** Approved, but no longer permitted when its turn came. */
  'void',
] as const;
export type ApprovalState = (typeof APPROVAL_STATES)[number];

/** A file of a held send, copied when the send was held. */
export interface HeldFile {
  readonly name: string;
  readonly bytes: number;
  readonly sha256: string;
}

/** A send that waits for the owner's decision, or its outcome. Only its state changes. */
export interface Approval {
  readonly id: string;
  readonly key_id: string;
  readonly state: ApprovalState;
  /** The recipient's address or chat id. */
  readonly to: string;
  /** The addresses of everybody who will read it. */
  readonly members: readonly string[];
  /** Null once it has ended. */
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
  /** The decider: the id of a key, `owner` for the owner's key, `tapback` for the owner's tapback. */
  readonly decided_by: string | null;
  /** Row id of the message, once it was sent and seen. */
  readonly message_id: string | null;
  /** Code of the problem that ended it. */
  readonly problem: string | null;
  /**
   * Hash of the content to decide on, for those who may decide. An approval repeats it, so that nothing else is
   * approved.
   */
  readonly shown?: string | undefined;
  /** Names of the members, with `include=contacts`. */
  readonly names?: Names | undefined;
  /** True if the owner never wrote there; only while it is held, with `include=contacts`. */
  readonly new_contact?: boolean | undefined;
}

/** The place in the console where the owner decides on a held send, relative to the service's address. */
export function approvalInConsole(id: string): string {
  return `/console#/access/${id}`;
}

/** Reports whether the state is final. */
export function hasEnded({ state }: Pick<Approval, 'state'>): boolean {
  return state !== 'held' && state !== 'approved';
}
