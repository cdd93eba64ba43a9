import type { ScheduledSend, ScheduledSource, ScheduledState } from '../scheduled.ts';
import type { SendRequest } from './sending-ports.ts';

/** A scheduled send in its stored form. */
export interface StoredScheduled extends ScheduledSend {
  readonly key_id: string;
  readonly sendAtMs: number;
  readonly sendUntilMs: number;
  readonly createdMs: number;
  /** When it was handed to Messages. */
  readonly begunMs: number | null;
  /** The readers that the owner approved; null if only the key's list decides. */
  readonly members: readonly string[] | null;
  /** True if the owner approved it, so that it is not held again. */
  readonly isApproved: boolean;
  /** `X-Request-Id` of the request. */
  readonly requestId: string | null;
}

export interface ScheduledEnd {
  readonly atMs: number;
  readonly messageId?: string | undefined;
  readonly problem?: string | undefined;
}

/**
 * Scheduled sends in state.db. Every change of a state is one durable statement, so that exactly one of two decisions
 * wins.
 */
export interface ScheduledStore {
  /**
   * Adds an entry, in the transaction that claims its idempotency key. If an entry with this id exists, that entry
   * stays.
   */
  add(entry: StoredScheduled): void;
  get(id: string): StoredScheduled | undefined;
  /** Lists at most 500 entries in order of time; of all keys if `keyId` is undefined. */
  list(query: {
    readonly states: readonly ScheduledState[];
    readonly keyId?: string | undefined;
  }): readonly StoredScheduled[];
  /** Returns the waiting entries whose time has come, in order of time. */
  due(nowMs: number): readonly StoredScheduled[];
  /** Returns when the next entry is due. */
  nextDueMs(): number | undefined;
  /** Changes the state from `scheduled` to `sending`. Returns false if it was cancelled or has ended. */
  begin(id: string, nowMs: number): boolean;
  /** Ends an entry in the state `from` and erases its text. Returns false if the entry is in another state. */
  end(id: string, from: 'scheduled' | 'sending', state: ScheduledState, end: ScheduledEnd): boolean;
  countWaiting(keyId: string): number;
  /** Returns the total size of the files of open entries, in bytes. */
  heldBytes(): number;
  /** Deletes entries that ended more than 30 days ago, and the oldest ended ones beyond 10,000. */
  prune(nowMs: number): void;
}

/** The key that schedules a send, and the owner's approval if the send needed one. */
export interface ScheduledBy {
  readonly keyId: string;
  /** The id, readers and files of an approved send. The files were copied when it was held. */
  readonly approved?: {
    readonly id: string;
    readonly members: readonly string[];
    readonly files: StoredScheduled['attachments'];
  };
}

/** Sends messages at their scheduled time. */
export interface Scheduler {
  /**
   * Stores a request until its `sendAtMs`. Throws `too_many_scheduled`, and everything that a send throws before it is
   * queued, such as for an unknown recipient or a missing file. Until a day after its time, a request with the same
   * `Idempotency-Key` returns the same entry.
   */
  add(
    request: SendRequest,
    by: ScheduledBy,
  ): Promise<{ readonly scheduled: ScheduledSend; readonly replayed: boolean }>;
  /** Cancels every waiting send of a key, and returns their number. */
  cancelAll(keyId: string): number;
  /** Returns the total size of the files of waiting sends, in bytes. */
  heldBytes(): number;
  /** Returns the ids of open entries, whose files must be kept. */
  openIds(): readonly string[];
  /** The scheduled sends of all keys and of the phone, as the owner sees them. */
  readonly entries: ScheduledSends;
}

export interface ScheduledQuery {
  readonly state?: ScheduledState | undefined;
  readonly source?: ScheduledSource | undefined;
}

/** The scheduled sends of one caller. Other callers' sends do not exist for it. */
export interface ScheduledSends {
  /** Lists sends in order of time: the open ones, or those in one state. */
  list(query: ScheduledQuery): readonly ScheduledSend[];
  /** Throws `scheduled_not_found`. */
  get(id: string): ScheduledSend;
  /**
   * Throws `too_late` if the message was already handed to Messages or has ended, and `scheduled_on_phone` if it was
   * scheduled on the phone.
   */
  cancel(id: string): void;
}

/** Returns the messages that Messages itself will send (Send Later), soonest first. Throws `chat_db_unavailable`. */
export type ScheduledOnPhone = () => readonly ScheduledSend[];
