import type { Cursor, LogIdentity } from '../cursor.ts';
import type { LogEntry, PendingRow } from '../event.ts';

/** chat.db as a log. Every method throws AppError `unavailable` while it cannot be read. */
export interface MessageLog {
  /** Entries with `after < row id <= upTo`, ascending, at most `limit`. Rows deleted since are simply not there. */
  entries(after: number, upTo: number, limit: number): readonly LogEntry[];
  /** The same for rows nobody has published yet, with what each still lacks. */
  pendingRows(after: number, limit: number): readonly PendingRow[];
  /** The newest row there is: the place a first start begins at. */
  newest(): Cursor;
  /** Facts for `isReplaced`. */
  identity(rowId: number): LogIdentity;
}

/** What a reader took from the feed. */
export interface FeedBatch {
  /** In row id order. */
  readonly entries: readonly LogEntry[];
  /** Once `entries` are done, everything up to this row id is: rows between them were deleted from chat.db. */
  readonly upTo: number;
  /** Events lost since the last take because this reader was too slow (C7); always 0 for a resumed reader. */
  readonly missed: number;
}

/** A place in the log that moves forward as it is taken from. Taking never waits. */
export interface FeedReader {
  /** The next entries, at most `limit`; none when level. A resumed reader throws `unavailable` while chat.db is away. */
  take(limit: number): FeedBatch;
  /** True when nothing published is left to take. */
  isCaughtUp(): boolean;
  /** Changes when the log was replaced (C5): row ids taken before mean nothing any more. */
  generation(): number;
  close(): void;
}

/** The published events, as a stream that anyone may join. `onMore` is called when there may be more to take. */
export interface EventFeed {
  /** Row id of the newest published event. */
  lastPublished(): number;
  /** From now on; one that falls behind by more than the capacity loses the oldest (C7, G2). */
  live(onMore: () => void): FeedReader;
  /**
   * Everything after `rowId`, never skipped: read from chat.db until level, then live (F4, G3).
   * `pacing`: the publisher waits a moment (C7) for this reader while it is level.
   */
  resume(rowId: number, onMore: () => void, options?: { readonly pacing?: boolean }): FeedReader;
  /** Refuses a client's `after`: 410 above the highest row id there ever was, 503 while chat.db is away (G3). */
  assertKnown(after: number): void;
  /** One page for `GET /events` (G4). */
  page(after: number, limit: number): readonly LogEntry[];
}

export interface CursorStore {
  load(): Cursor | undefined;
  save(mark: Cursor): void;
  /** Starts over at `mark` (first start, or the log was replaced: C4, C5), every webhook with it, in one transaction. */
  restart(mark: Cursor): void;
}
