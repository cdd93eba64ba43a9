import type { Cursor, LogIdentity } from '../cursor.ts';
import type { LogEntry, PendingRow, RowEntry } from '../event.ts';
import type { Print } from '../fingerprint.ts';
import type { Narrowing } from '../narrowing.ts';
import type { ClientOffset, Offset } from '../offset.ts';
import type { Change } from './changes.ts';

/** chat.db as a log. Every method throws `chat_db_unavailable` while it cannot be read. */
export interface MessageLog {
  /**
   * Entries after `after` and up to `upTo`, in order, at most `limit`, and fewer where bodies are large: only an empty
   * answer means that there are no more. Rows deleted since are left out.
   */
  entries(after: Offset, upTo: Offset, limit: number): readonly RowEntry[];
  /**
   * The rows after `after` that nobody has published yet, in order, as many as with `entries`; with `hasPrints` each
   * with its print, read at the same commit.
   */
  pendingRows(after: Offset, limit: number, hasPrints?: boolean): readonly PendingRow[];
  /** The newest row: where a first start begins. */
  newest(): Cursor;
  /** Facts for `isReplaced`. */
  identity(at: Offset): LogIdentity;
}

/** What a reader took from the feed. */
export interface FeedBatch {
  /** In the order of the log. None may mean that a limited key may see none of them, and that there are more. */
  readonly entries: readonly LogEntry[];
  /** Once `entries` are done, everything up to here is: rows between them were deleted from chat.db. */
  readonly upTo: Offset;
  /** Events lost since the last take because this reader was too slow (decision C7); always 0 for a resumed reader. */
  readonly missed: number;
}

/** A position in the log that moves forward as entries are taken. Taking never waits. */
export interface FeedReader {
  /**
   * The next entries, at most `limit`; none when caught up. A resumed reader throws `chat_db_unavailable`
   * while chat.db cannot be read.
   */
  take(limit: number): FeedBatch;
  /** True when nothing published is left to take. */
  isCaughtUp(): boolean;
  /** Changes when the log was replaced (decision C5): offsets from before mean nothing any more. */
  generation(): number;
  close(): void;
}

export interface FeedOptions {
  /**
   * Changes of existing rows too (decision I2). While detection is off a reader with changes gets rows alone: only
   * `resolve` begins it or refuses.
   */
  readonly changes?: boolean;
}

export interface ResumeOptions extends FeedOptions {
  /** The publisher waits a moment (decision C7) for this reader while it is caught up. */
  readonly backpressure?: boolean;
}

/** What became of an entry: done, with what is to be recorded about it, or interrupted and to be handled again. */
export type Handled<Outcome> =
  | { readonly isDone: true; readonly record?: Outcome | undefined }
  | { readonly isDone: false };

/** What a consumer does with the log, and where it keeps how far it is. */
export interface ConsumerTask<Outcome> {
  /** As in the log and in the state database. */
  readonly name: string;
  /** The stored position to begin after; asked again when the log was replaced (decision C5). */
  storedOffset(): Offset;
  /** What is to be done before the next entry; undefined when there is nothing. It rejects as `handle` does. */
  readonly first?: () => Promise<void> | undefined;
  /** Handles one entry; the next one waits. A rejection is logged, and the entry is handled again after a second. */
  handle(entry: LogEntry): Promise<Handled<Outcome>>;
  /** What is to be recorded about rows that were deleted from chat.db before they were handled (decision F4). */
  gone(firstRowId: number, lastRowId: number): Outcome;
  /** Everything up to `offset` is done. Called in order, and with an earlier offset only after `seek`. */
  progress(offset: Offset, record?: Outcome): void;
}

/** A durable reader of the log: every entry in order, one at a time, at least once through crashes (decision F4). */
export interface EventConsumer {
  /** Everything up to here is done. */
  readonly offset: Offset;
  /** Resolves when nothing is handled any more, after `stop`. */
  readonly ended: Promise<void>;
  /** Begins to handle entries; until then it only keeps its place. */
  start(): void;
  /** Ends after the entry that is being handled. */
  stop(): void;
  /**
   * Goes on from `offset`, which is stored already. An entry that is being handled does not move the offset any more.
   * `options` take the place of those before.
   */
  seek(offset: Offset, options?: ResumeOptions): void;
  /** Asks the task again what is to be done first. */
  wake(): void;
}

/** One page of the log. */
export interface FeedPage {
  readonly entries: readonly LogEntry[];
  /** Where the next page begins. With changes it may be ahead of the last entry, and there may be no entry at all. */
  readonly upTo: Offset;
}

/** A page as its reader may see it. */
export interface SeenPage extends FeedPage {
  /** How many entries were read, of which a limited key may see few. */
  readonly looked: number;
}

/**
 * The published events, as a stream that anyone may join. `onMore` is called when there may be more to take. The feed of
 * a limited key has only what the key may read at the moment of reading.
 */
export interface EventFeed {
  /** Position of the newest published event. */
  lastPublished(options?: FeedOptions): Offset;
  /** Of the change log: another one when it was begun again. */
  changeGeneration(): number;
  /**
   * The text that a client keeps to go on behind this position; with the generation of the change log for a client
   * with changes. `resolve` understands it.
   */
  offsetText(offset: Offset, generation: number | undefined): string;
  /**
   * The position that a client's offset means, or without one the newest. With `changes` it notes that somebody asks
   * for them, and a row id alone means: the rows after it, and changes from now on. Throws 410 `after_unknown` above
   * the highest row id there ever was (decision G3), 410 `offset_expired` for an offset of another generation or older
   * than the oldest kept change, 404 `changes_disabled` where the configuration has them off, 503 while chat.db is away.
   */
  resolve(offset: ClientOffset | undefined, options?: FeedOptions): Offset;
  /** Reports whether an entry may be shown now: what was read a while ago may have been taken from the key's list. */
  admits(entry: LogEntry): boolean;
  /** Reports whether a reader wants an entry; undefined when it wants all. Throws 501 at a hub, which cannot tell. */
  wanted(narrowing: Narrowing): ((entry: LogEntry) => boolean) | undefined;
  /** From now on; a reader that falls behind by more than the capacity loses the oldest (decisions C7, G2). */
  live(onMore: () => void, options?: FeedOptions): FeedReader;
  /** Everything after `offset`, never skipped: read from chat.db until caught up, then live (decisions F4, G3). */
  resume(offset: Offset, onMore: () => void, options?: ResumeOptions): FeedReader;
  /** The same as `resume`, with a task that handles the entries and stores how far it is. */
  consume<Outcome>(task: ConsumerTask<Outcome>, options?: ResumeOptions): EventConsumer;
  /** One page for `GET /events` (decision G4), after a position that `resolve` gave, or `upTo` of the page before. */
  page(after: Offset, limit: number, options?: FeedOptions): SeenPage;
}

export interface CursorStore {
  load(): Cursor | undefined;
  /**
   * With the first prints of the rows that it says are published, and the changes that those rows are of earlier ones: all
   * of it is stored, or nothing (decision I4).
   */
  save(cursor: Cursor, prints?: ReadonlyMap<number, Print>, changes?: readonly Change[], nowMs?: number): void;
  /**
   * Starts over at `cursor` (first start, or the log was replaced: decisions C4, C5), every consumer and the change
   * log with it, in one transaction. `prints` are those of the newest rows.
   */
  restart(cursor: Cursor, prints?: ReadonlyMap<number, Print>): void;
}
