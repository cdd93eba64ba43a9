import type { Cursor, LogIdentity } from '../cursor.ts';
import type { LogEntry, PendingRow, RowEntry } from '../event.ts';
import type { Print } from '../fingerprint.ts';
import type { Narrowing } from '../narrowing.ts';
import type { ClientOffset, Offset } from '../offset.ts';
import type { Change } from './changes-ports.ts';

/** chat.db as a log. Every method throws `chat_db_unavailable` while chat.db is unreadable. */
export interface MessageLog {
  /**
   * Returns entries after `after` and up to `upTo`, in order: at most `limit`, fewer if bodies are large. Only an empty
   * result means that there are no more. Deleted rows are omitted.
   */
  entries(after: Offset, upTo: Offset, limit: number): readonly RowEntry[];
  /**
   * Returns unpublished rows after `after`, in order, bounded as in `entries`. With `hasPrints` each row comes with its
   * print, read at the same commit.
   */
  pendingRows(after: Offset, limit: number, hasPrints?: boolean): readonly PendingRow[];
  /** Returns the newest row. At the very first start, publishing begins after it. */
  newest(): Cursor;
  /** Facts for `isReplaced`. */
  identity(at: Offset): LogIdentity;
}

/** The result of taking from the feed. */
export interface FeedBatch {
  /** In log order. May be empty although more entries follow: those that a limited key may not read are left out. */
  readonly entries: readonly LogEntry[];
  /** Position after the batch. It can be beyond the last entry, because deleted rows have no entry. */
  readonly upTo: Offset;
  /**
   * Number of events lost since the last take because this reader was too slow (decision C7). Always 0 for a resumed
   * reader.
   */
  readonly missed: number;
}

/** A position in the log that moves forward as entries are taken. Taking never waits. */
export interface FeedReader {
  /**
   * Returns the next entries, at most `limit`; none if caught up. A resumed reader throws `chat_db_unavailable` while
   * chat.db is unreadable.
   */
  take(limit: number): FeedBatch;
  /** Reports whether everything published has been taken. */
  isCaughtUp(): boolean;
  /** A number that changes when the log is replaced (decision C5). Earlier offsets are then meaningless. */
  generation(): number;
  close(): void;
}

export interface FeedOptions {
  /**
   * Includes changes of existing rows (decision I2). This does not start detection: only `resolve` starts it, or
   * throws. While detection is off, a reader with changes gets only new rows.
   */
  readonly changes?: boolean;
}

export interface ResumeOptions extends FeedOptions {
  /** While this reader is caught up, the publisher waits briefly for it (decision C7). */
  readonly backpressure?: boolean;
}

/** The result of handling an entry: done, with an outcome to record; or interrupted, to be handled again. */
export type Handled<Outcome> =
  | { readonly isDone: true; readonly record?: Outcome | undefined }
  | { readonly isDone: false };

/** A consumer's work on the log, and the storage of its position. */
export interface ConsumerTask<Outcome> {
  /** The consumer's name in the log and in the state database. */
  readonly name: string;
  /** Returns the stored position to start after. Called again after the log was replaced (decision C5). */
  storedOffset(): Offset;
  /**
   * Starts the work to do before the next entry; returns undefined if there is none. A rejection is treated like a
   * rejection of `handle`.
   */
  readonly first?: () => Promise<void> | undefined;
  /** Handles one entry; the next one waits. A rejection is logged, and the entry is retried after a second. */
  handle(entry: LogEntry): Promise<Handled<Outcome>>;
  /** The outcome to record for rows that were deleted from chat.db before they were handled (decision F4). */
  gone(firstRowId: number, lastRowId: number, options: FeedOptions): Outcome | undefined;
  /** Stores that everything up to `offset` is done. The offset goes back only after `seek`. */
  progress(offset: Offset, record?: Outcome): void;
}

/** A durable reader of the log: every entry in order, one at a time, at least once through crashes (decision F4). */
export interface EventConsumer {
  /** Everything up to here is done. */
  readonly offset: Offset;
  /** Resolves after `stop`, once no entry is being handled. */
  readonly ended: Promise<void>;
  /** Starts handling entries. Before that it only keeps its position. */
  start(): void;
  /** Ends after the current entry. */
  stop(): void;
  /**
   * Continues from `offset`, which is already stored. The current entry no longer moves the offset. `options` replace
   * the previous ones.
   */
  seek(offset: Offset, options?: ResumeOptions): void;
  /** Makes the consumer ask the task for its `first` work again. */
  wake(): void;
}

/** One page of the log. */
export interface FeedPage {
  readonly entries: readonly LogEntry[];
  /** The start of the next page. For a reader with changes it may be beyond the last entry, even on an empty page. */
  readonly upTo: Offset;
}

/** A page as its reader may see it. */
export interface SeenPage extends FeedPage {
  /** How many entries were read, including those that a limited key may not see. */
  readonly looked: number;
}

/**
 * The published events as a stream that any number of readers may join. `onMore` is called when there may be more to
 * take. A limited key's feed contains only what the key may read at the moment of reading.
 */
export interface EventFeed {
  /** Returns the position of the newest published event. */
  lastPublished(options?: FeedOptions): Offset;
  /** The generation of the change log, which changes when the log is restarted. */
  changeGeneration(): number;
  /**
   * Returns the position as a text, with which a client can continue after it: `resolve` accepts the text. For a client
   * with changes, `generation` is that of the change log.
   */
  offsetText(offset: Offset, generation: number | undefined): string;
  /**
   * Resolves a client's offset to a position; without one, to the newest. With `changes` it records that a client wants
   * them; a bare row id then stands for the rows after it and for changes from now on. Throws 410 `after_unknown` above
   * the highest row id ever used (decision G3), 410 `offset_expired` for an offset of another generation or before the
   * oldest kept change, 404 `changes_disabled` if the configuration disables changes, and 503 while chat.db is
   * unavailable.
   */
  resolve(offset: ClientOffset | undefined, options?: FeedOptions): Offset;
  /** Reports whether an entry may still be shown: the key's list may have shrunk since the entry was read. */
  admits(entry: LogEntry): boolean;
  /**
   * Returns a filter for the entries that a reader wants; undefined if the reader wants all of them. Throws 501 at a
   * hub, which lacks the facts.
   */
  wanted(narrowing: Narrowing): ((entry: LogEntry) => boolean) | undefined;
  /** At a hub: returns the Macs that publish no changes. A reader with changes gets only new rows from these Macs. */
  withoutChanges?(): readonly string[];
  /**
   * Returns a reader that begins now. If it falls behind by more than the capacity, it loses the oldest entries
   * (decisions C7, G2).
   */
  live(onMore: () => void, options?: FeedOptions): FeedReader;
  /**
   * Returns a reader of everything after `offset`, without gaps: from chat.db until caught up, then live (decisions F4,
   * G3).
   */
  resume(offset: Offset, onMore: () => void, options?: ResumeOptions): FeedReader;
  /** Returns a reader that hands each entry to the task and stores the task's position. */
  consume<Outcome>(task: ConsumerTask<Outcome>, options?: ResumeOptions): EventConsumer;
  /**
   * Returns one page for `GET /events` (decision G4), after a position from `resolve` or from `upTo` of the previous
   * page.
   */
  page(after: Offset, limit: number, options?: FeedOptions): SeenPage;
}

export interface CursorStore {
  load(): Cursor | undefined;
  /**
   * Stores the cursor, the first prints of the newly published rows, and the changes that these rows mean for earlier
   * rows: all or nothing (decision I4).
   */
  save(cursor: Cursor, prints?: ReadonlyMap<number, Print>, changes?: readonly Change[], nowMs?: number): void;
  /**
   * Makes the log, every consumer and the change log start over at `cursor`, in one transaction: at the first start, or
   * after the log was replaced (decisions C4, C5). `prints` belong to the newest rows.
   */
  restart(cursor: Cursor, prints?: ReadonlyMap<number, Print>): void;
}
