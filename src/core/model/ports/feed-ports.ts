import type { Cursor, LogIdentity } from '../cursor.ts';
import type { LogEntry, PendingRow, RowEntry } from '../event.ts';
import type { Print } from '../fingerprint.ts';
import type { Narrowing, Reading } from '../narrowing.ts';
import type { ClientOffset, Offset } from '../offset.ts';
import type { Change } from './changes-ports.ts';

/** chat.db as a log. Every method throws `chat_db_unavailable` while chat.db is unreadable. */
export interface MessageLog {
  /**
   * Returns entries after `after` and up to `upTo`, in order: at most `limit`, and fewer if message bodies are large.
   * Only an empty result means that no entries are left. Omits deleted rows.
   */
  entries(after: Offset, upTo: Offset, limit: number): readonly RowEntry[];
  /**
   * Returns the rows after `after`, in order, with the same limits as `entries`. These rows have not been published
   * yet. With `hasPrints`, each row includes its print, read at the same commit as the row.
   */
  pendingRows(after: Offset, limit: number, hasPrints?: boolean): readonly PendingRow[];
  /** Returns the position of the newest row. When Postern starts for the first time, it publishes only later rows. */
  newest(): Cursor;
  /** Returns the facts by which `isReplaced` recognises a replaced chat.db. */
  identity(at: Offset): LogIdentity;
}

/** The entries that one call of `FeedReader.take` returns. */
export interface FeedBatch {
  /**
   * In log order. Omits entries that a limited key may not read. The list may therefore be empty although more entries
   * follow.
   */
  readonly entries: readonly LogEntry[];
  /** The reader's position after this batch. It can be beyond the last entry, because deleted rows have no entry. */
  readonly upTo: Offset;
  /**
   * Number of events that this reader lost since its previous `take`, because it was too slow. Always 0 for a reader
   * that `resume` returned.
   */
  readonly missed: number;
}

/**
 * Reads the log from a position onwards: each `take` moves the position forward. `take` never waits for new entries.
 */
export interface FeedReader {
  /**
   * Returns the next entries, at most `limit`; none if the reader is caught up. A reader that `resume` returned throws
   * `chat_db_unavailable` while chat.db is unreadable.
   */
  take(limit: number): FeedBatch;
  /** Reports whether this reader has taken every published event. */
  isCaughtUp(): boolean;
  /** Returns a number that changes when the log is replaced (decision C5). Earlier offsets are then meaningless. */
  generation(): number;
  close(): void;
}

export interface FeedOptions {
  /**
   * True to read changes of existing rows too. If change detection is off, `resolve` starts it, but the other methods
   * with this option read only new rows.
   */
  readonly changes?: boolean;
}

export interface ResumeOptions extends FeedOptions {
  /**
   * If true, the publisher waits briefly after each batch until this reader has taken the batch. The publisher does not
   * wait for a reader that was behind before the batch (decision C7).
   */
  readonly backpressure?: boolean;
}

/**
 * The result of handling an entry. `isDone` is false if handling was interrupted; the entry is then handled again.
 * `record` is the outcome to store.
 */
export type Handled<Outcome> =
  | { readonly isDone: true; readonly record?: Outcome | undefined }
  | { readonly isDone: false };

/** A consumer's work on the log, and the storage of its position. */
export interface ConsumerTask<Outcome> {
  /** The consumer's name in the log and in the state database. */
  readonly name: string;
  /**
   * Returns the stored position, after which the consumer starts. Called again whenever the log has been replaced
   * (decision C5).
   */
  storedOffset(): Offset;
  /**
   * Starts work that must be done before the next entry; returns undefined if there is no such work. If the promise
   * rejects, the failure is logged and the work is retried, as for `handle`.
   */
  readonly first?: () => Promise<void> | undefined;
  /**
   * Handles one entry, while all later entries wait. If the promise rejects, the failure is logged and the entry is
   * retried after a second.
   */
  handle(entry: LogEntry): Promise<Handled<Outcome>>;
  /**
   * Returns the outcome to record for the rows from `firstRowId` to `lastRowId`, which have no event: they were deleted
   * from chat.db before they were handled (decision F4), or cause none (decision U5). Returns undefined for none.
   */
  gone(firstRowId: number, lastRowId: number, options: FeedOptions): Outcome | undefined;
  /**
   * Stores that every entry up to `offset` is done. `offset` is lower than in an earlier call only after `seek` or a
   * replaced log.
   */
  progress(offset: Offset, record?: Outcome): void;
}

/** A durable reader of the log: every entry in order, one at a time, at least once through crashes (decision F4). */
export interface EventConsumer {
  /** Every entry up to this position is done. */
  readonly offset: Offset;
  /** Resolves after `stop`, once no entry is being handled. */
  readonly ended: Promise<void>;
  /** Starts handling entries. Before this call the consumer has joined the feed, but handles nothing. */
  start(): void;
  /** Ends after the current entry. */
  stop(): void;
  /**
   * Continues after `offset`, which the caller has already stored. If the consumer is still handling an entry,
   * finishing that entry does not move the position. `options`, if present, replace the consumer's previous options.
   */
  seek(offset: Offset, options?: ResumeOptions): void;
  /** Makes the consumer ask the task for its `first` work again. */
  wake(): void;
}

/** One page of the log. */
export interface FeedPage {
  readonly entries: readonly LogEntry[];
  /**
   * The start of the next page. For a reader with changes, `upTo` may be beyond the last entry, even on an empty page.
   */
  readonly upTo: Offset;
}

/** A page without the entries that a limited key may not read. */
export interface SeenPage extends FeedPage {
  /** Number of entries that were read for this page, including those that a limited key may not read. */
  readonly looked: number;
}

/**
 * The published events, as a stream that any number of readers may join. A reader's `onMore` is called when there may
 * be new entries to take. A limited key's feed contains only entries that the key may read at the time of the `take`.
 */
export interface EventFeed {
  /** Returns the position of the newest published event. */
  lastPublished(options?: FeedOptions): Offset;
  /** Returns the generation of the change log: a number that changes when the change log is restarted. */
  changeGeneration(): number;
  /**
   * Returns the position as text that a client can send to continue after the position. Pass `changeGeneration()` for a
   * client that reads changes, else undefined.
   */
  offsetText(offset: Offset, generation: number | undefined): string;
  /**
   * Returns the position for a client's offset; without an offset, the newest position. With `changes`, also records
   * that a client wants changes. A bare row id with `changes` means all later rows, but only changes from now on.
   * Throws 410 `after_unknown` if the row id is above the highest one ever used (decision G3), or may be one of a
   * chat.db that was replaced (decision C5), 410 `offset_expired` for an offset of another generation or before the
   * oldest kept change, 404 `changes_disabled` if the configuration disables changes, and 503 while chat.db is
   * unavailable.
   */
  resolve(offset: ClientOffset | undefined, options?: FeedOptions): Offset | Promise<Offset>;
  /**
   * Reports whether the caller may still read an entry that it has taken: the list of a limited key may have been
   * shortened since then.
   */
  admits(entry: LogEntry): boolean;
  /**
   * Returns a filter for the entries that a reader wants; undefined if the reader wants all of them. `key` returns the
   * limited key that reads.
   */
  wanted(narrowing: Narrowing, key?: () => Reading): ((entry: LogEntry) => boolean) | undefined;
  /**
   * Returns a reader of the events that are published from now on. If it falls behind by more entries than the feed
   * keeps in memory, it loses the oldest ones (decisions C7, G2).
   */
  live(onMore: () => void, options?: FeedOptions): FeedReader;
  /**
   * Returns a reader of every event after `offset`, without gaps. It reads from chat.db until it is caught up, and then
   * from the feed (decisions F4, G3).
   */
  resume(offset: Offset, onMore: () => void, options?: ResumeOptions): FeedReader;
  /**
   * Returns one page for `GET /events` (decision G4). `after` is a position from `resolve`, or `upTo` of the previous
   * page.
   */
  page(after: Offset, limit: number, options?: FeedOptions): SeenPage | Promise<SeenPage>;
}

/** The feed of this Mac's own rows, which are at hand without waiting. */
export interface RowFeed extends EventFeed {
  resolve(offset: ClientOffset | undefined, options?: FeedOptions): Offset;
  page(after: Offset, limit: number, options?: FeedOptions): SeenPage;
  /** Returns a reader that hands each entry to the task and stores the task's position. */
  consume<Outcome>(task: ConsumerTask<Outcome>, options?: ResumeOptions): EventConsumer;
}

export interface CursorStore {
  load(): Cursor | undefined;
  /**
   * Stores the cursor, the first prints of the newly published rows, and the changes of earlier rows that the new rows
   * imply, in one transaction.
   */
  save(cursor: Cursor, prints?: ReadonlyMap<number, Print>, changes?: readonly Change[], nowMs?: number): void;
  /**
   * Makes the log, every consumer and the change log start over at `cursor`, in one transaction. Called at the first
   * start, and after chat.db was replaced (decisions C4, C5). `prints` are those of the newest rows.
   */
  restart(cursor: Cursor, prints?: ReadonlyMap<number, Print>): void;
  /** Returns the highest row id that chat.db had when it was last replaced; 0 if it never was. */
  replacedAt(): number;
}
