import type { ScheduledSend, ScheduledSource, ScheduledState } from '../scheduled.ts';
import type { SendRequest } from './sending.ts';

/** A scheduled send as it is kept. */
export interface StoredScheduled extends ScheduledSend {
  readonly key_id: string;
  readonly sendAtMs: number;
  readonly sendUntilMs: number;
  readonly createdMs: number;
  /** When it was handed to Messages. */
  readonly begunMs: number | null;
  /** The readers it was approved for; null if only the list of the key decides. */
  readonly members: readonly string[] | null;
  /** The owner approved it, so it is not held again. */
  readonly isApproved: boolean;
  /** `X-Request-Id` of the request. */
  readonly requestId: string | null;
}

export interface ScheduledEnd {
  readonly atMs: number;
  readonly messageId?: string | undefined;
  readonly problem?: string | undefined;
}

/** Scheduled sends in state.db. Every change of a state is one durable statement, so that one of two decisions wins. */
export interface ScheduledStore {
  /** Within the transaction of its claim. One that is there stays. */
  add(entry: StoredScheduled): void;
  get(id: string): StoredScheduled | undefined;
  /** By time; `keyId` undefined for those of all keys. */
  list(query: {
    readonly states: readonly ScheduledState[];
    readonly keyId?: string | undefined;
  }): readonly StoredScheduled[];
  /** Those that wait and whose time has come, by time. */
  due(nowMs: number): readonly StoredScheduled[];
  /** When the next one is due. */
  nextDueMs(): number | undefined;
  /** From `scheduled` to `sending`: false when it was cancelled or ended before. */
  begin(id: string, nowMs: number): boolean;
  /** Ends one that is in the state `from`, and erases its text: false when it is in another one. */
  end(id: string, from: 'scheduled' | 'sending', state: ScheduledState, end: ScheduledEnd): boolean;
  countWaiting(keyId: string): number;
  /** Bytes of the files of those that are not over. */
  heldBytes(): number;
  /** Forgets what ended more than 30 days ago, and beyond 10,000 the oldest. */
  prune(nowMs: number): void;
}

/** The key that schedules, and the approval it may have. */
export interface ScheduledBy {
  readonly keyId: string;
  /** The id, readers and files of an approved send. The files were copied when it was held. */
  readonly approved?: {
    readonly id: string;
    readonly members: readonly string[];
    readonly files: StoredScheduled['attachments'];
  };
}

/** Sends messages at their time. */
export interface Scheduler {
  /**
   * Keeps a request with `sendAtMs` for its time. Besides what a send throws before its turn: `too_many_scheduled`. The
   * same `Idempotency-Key` gives the same entry, until a day after its time.
   */
  add(
    request: SendRequest,
    by: ScheduledBy,
  ): Promise<{ readonly scheduled: ScheduledSend; readonly replayed: boolean }>;
  /** Cancels what waits for a key. */
  cancelAll(keyId: string): void;
  /** Bytes of the files that wait. */
  heldBytes(): number;
  /** Ids of those that are not over, whose files must stay. */
  openIds(): readonly string[];
  /** Those of all keys and of the phone, as the owner sees them. */
  readonly entries: ScheduledSends;
}

export interface ScheduledQuery {
  readonly state?: ScheduledState | undefined;
  readonly source?: ScheduledSource | undefined;
}

/** The scheduled sends of one caller. Those of others do not exist for it. */
export interface ScheduledSends {
  /** By time: those that wait, or those of one state. */
  list(query: ScheduledQuery): readonly ScheduledSend[];
  /** Throws `scheduled_not_found`. */
  get(id: string): ScheduledSend;
  /** Throws `too_late` when it was handed to Messages or is over, `scheduled_on_phone` for one of the phone. */
  cancel(id: string): void;
}

/** Returns the messages that Messages will send by itself (Send Later), soonest first. Throws `chat_db_unavailable`. */
export type ScheduledOnPhone = () => readonly ScheduledSend[];
