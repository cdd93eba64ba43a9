import type { DueSend } from '../../core/model/ports/deferral-ports.ts';
import type { StoredBytes } from '../../core/model/upload.ts';
import type { ScheduledSend, ScheduledSource, ScheduledState } from './scheduled.ts';

/** A scheduled send in its stored form. */
export interface StoredScheduled extends ScheduledSend, DueSend {
  readonly id: string;
  readonly key_id: string;
  readonly to: string;
  readonly text: string | null;
  readonly sendAtMs: number;
  readonly sendUntilMs: number;
  readonly createdMs: number;
  /** `X-Request-Id` of the request that scheduled the send; null if it had none. */
  readonly requestId: string | null;
}

export interface ScheduledEnd {
  readonly atMs: number;
  readonly messageId?: string | undefined;
  readonly problem?: string | undefined;
}

/**
 * Stores scheduled sends in state.db. Changes an entry's state in one durable statement. If a send is cancelled just as
 * it begins, it is therefore either cancelled or sent, never both.
 */
export interface ScheduledStore {
  /**
   * Adds an entry. Called inside the transaction that claims the entry's idempotency key. Does nothing if an entry with
   * this id exists.
   */
  add(entry: StoredScheduled): void;
  get(id: string): StoredScheduled | undefined;
  /**
   * Lists at most 500 entries in the order of their scheduled times: the soonest, or the latest if all `states` are
   * final. Without `keyId`, lists the entries of all keys.
   */
  list(query: {
    readonly states: readonly ScheduledState[];
    readonly keyId?: string | undefined;
  }): readonly StoredScheduled[];
  /** Returns the ids of all entries that have not ended. */
  openIds(): readonly string[];
  /** Returns the entries in the state `scheduled` whose scheduled time has come, in the order of these times. */
  due(nowMs: number): readonly StoredScheduled[];
  /** Returns the earliest time of an entry in the state `scheduled`, Unix milliseconds; undefined if there is none. */
  nextDueMs(): number | undefined;
  /** Changes an entry's state from `scheduled` to `sending`. Returns false if the entry is in another state. */
  begin(id: string, nowMs: number): boolean;
  /**
   * Changes an entry's state from `sending` back to `scheduled`. For a send of which certainly nothing was sent.
   * Returns false if the entry is in another state.
   */
  putBack(id: string): boolean;
  /**
   * Changes an entry's state from `from` to the final `state` and erases its text. Returns false if the entry is not in
   * the state `from`.
   */
  end(id: string, from: 'scheduled' | 'sending', state: ScheduledState, end: ScheduledEnd): boolean;
  countWaiting(keyId: string): number;
  /** Returns the sizes of the files of entries that have not ended. */
  keptBytes(): readonly StoredBytes[];
  /**
   * Deletes entries that ended more than 30 days ago. If more than 10,000 entries remain, also deletes the oldest ended
   * ones.
   */
  prune(nowMs: number): void;
}

export interface ScheduledQuery {
  readonly state?: ScheduledState | undefined;
  readonly source?: ScheduledSource | undefined;
  /** Only the sends of this key, besides those of the phone. */
  readonly keyId?: string | undefined;
}

/** The scheduled sends of one caller. Methods behave as if other callers' sends did not exist. */
export interface ScheduledSends {
  /**
   * Lists sends in the order of their scheduled times: those in `state`, or without `state` those that have not ended.
   */
  list(query: ScheduledQuery): readonly ScheduledSend[];
  /** Throws `scheduled_not_found`. */
  get(id: string): ScheduledSend;
  /**
   * Cancels a send. Throws `too_late` if the message was already handed to Messages or the send has ended, and
   * `scheduled_on_phone` if the message was scheduled in Messages itself (Send Later).
   */
  cancel(id: string): void;
}

/**
 * Returns the messages that the owner scheduled in Messages (Send Later), soonest first. Throws `chat_db_unavailable`.
 */
export type ScheduledOnPhone = () => readonly ScheduledSend[];
