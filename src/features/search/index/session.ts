import type { AssociatedRows } from '../../../core/model/associated-rows.ts';
import { isReplaced } from '../../../core/model/cursor.ts';
import { isAppError } from '../../../core/model/errors.ts';
import { type Offset, rowOffset } from '../../../core/model/offset.ts';
import type { EventConsumer, MessageLog, RowFeed } from '../../../core/model/ports/feed-ports.ts';
import type { Clock, Log } from '../../../core/model/ports/host-ports.ts';
import type { Sqlite } from '../../../core/runtime/sqlite.ts';
import type { IndexSource, ListedRow, SearchPage } from '../ports.ts';
import type { Found } from '../query/finder.ts';
import type { SearchQuery } from '../types.ts';
import { type DocumentKey, Documents } from './documents.ts';
import { openIndex } from './index-database.ts';
import { deleteIndex } from './index-file.ts';
import { type IndexPosition, IndexState, type Progress } from './index-state.ts';
import type { Put, RowsAgain, RowUpdate, WalkPosition } from './index-writer.ts';
import { Pace } from './pace.ts';
import { SkippedRows } from './skipped-rows.ts';
import { Updates } from './updates.ts';
import { type IndexWriting, walkIndex } from './walk.ts';
import { WriteLock } from './write-lock.ts';

/** Calls `Finder` and `IndexWriter`, in the reader thread if there is one, otherwise in this thread. */
export interface IndexWork {
  find(path: string, query: SearchQuery, page: SearchPage): Promise<Found>;
  add(path: string, rows: readonly ListedRow[], again: RowsAgain): Promise<number>;
  put(path: string, updates: readonly RowUpdate[]): Promise<Put>;
  advance(path: string, from: WalkPosition, to: Pick<Progress, 'next' | 'reached'>): Promise<boolean>;
  merge(path: string, isFirst: boolean): Promise<boolean>;
}

export interface SessionParts {
  /** Path of search.db. */
  readonly path: string;
  readonly source: IndexSource;
  /** Determines which rows count as messages. An index made with another setting is rebuilt. */
  readonly associatedRows?: AssociatedRows;
  readonly feed: Pick<RowFeed, 'lastPublished' | 'changeGeneration' | 'resolve' | 'consume'>;
  readonly messages: MessageLog;
  readonly work: IndexWork;
  /** Called with the path after each opening of the index, because opening it may have created a new file. */
  readonly onOpened?: ((path: string) => void) | undefined;
  readonly clock: Clock;
  readonly log: Log;
}

/** The error with which a session ends when chat.db was replaced. */
export const REPLACED = new Error('chat.db was replaced');

/**
 * Opens the index and keeps it up to date until something fails. The next session continues from the state stored in
 * search.db.
 */
export class Session {
  readonly #parts: SessionParts;
  readonly #sqlite: Sqlite;
  readonly #state: IndexState;
  readonly #skipped: SkippedRows;
  readonly #pace: Pace;
  readonly #updates: Updates;
  readonly #walk: () => Promise<void>;
  #consumer: EventConsumer | undefined;
  #fail: (error: unknown) => void = () => undefined;

  /** Opens the index. Throws SQLite's error, or AppError `chat_db_unavailable`. */
  constructor(parts: SessionParts) {
    this.#parts = parts;
    const sqlite = openCurrent(parts);
    this.#sqlite = sqlite;
    const { path, source, work, clock } = parts;
    parts.onOpened?.(path);
    this.#state = new IndexState(sqlite);
    this.#skipped = new SkippedRows(sqlite);
    this.#pace = new Pace(clock);
    const documents = documentsOf(sqlite);
    const lock = new WriteLock();
    const shared = { documents, state: this.#state, pace: this.#pace };
    this.#updates = new Updates({
      ...{ ...shared, lock },
      put: (updates) => lock.run(() => work.put(path, updates)),
      onReplaced: () => {
        this.#fail(REPLACED);
        return parts.feed.lastPublished({ changes: true });
      },
      onFailure: (error) => this.#fail(error),
    });
    const write: IndexWriting = {
      add: (rows, again) => lock.run(() => work.add(path, rows, again)),
      advance: (from, to) => lock.run(() => work.advance(path, from, to)),
      merge: (isFirst) => lock.run(() => work.merge(path, isFirst)),
    };
    const repair = (keys: readonly DocumentKey[]): void => this.#updates.repair(keys);
    this.#walk = () => walkIndex({ ...shared, source, clock, write, repair });
  }

  /** Keeps the index up to date. Resolves after `close`, and rejects with the first failure. */
  run(): Promise<void> {
    const failed = new Promise<never>((_resolve, reject) => {
      this.#fail = reject;
    });
    this.#consumer = this.#parts.feed.consume(this.#updates, { changes: true });
    this.#consumer.start();
    return Promise.race([failed, this.#walk()]);
  }

  progress(): Progress & { readonly skipped: readonly number[] } {
    return { ...this.#state.progress(), skipped: this.#skipped.all() };
  }

  repair(keys: readonly DocumentKey[]): void {
    this.#updates.repair(keys);
  }

  /** Ends the session. May be called twice. `ended` is the promise from `run`. */
  async close(ended: Promise<unknown>): Promise<void> {
    this.#consumer?.stop();
    this.#pace.stop();
    await this.#updates.close();
    await Promise.allSettled([ended, this.#consumer?.ended]);
    this.#sqlite.close();
  }
}

function documentsOf(sqlite: Sqlite): Documents {
  try {
    return new Documents(sqlite);
  } catch (error) {
    sqlite.close(); // preparing the statements fails if a table is missing
    throw error;
  }
}

/** Opens the index, or creates it. Deletes and recreates an index that belongs to a chat.db that was replaced. */
function openCurrent(parts: SessionParts): Sqlite {
  const { path, messages, feed, log } = parts;
  const newest = messages.newest();
  const first = openIndex(path, parts.associatedRows);
  try {
    if (first.isNew) {
      new IndexState(first.sqlite).begin(newestPosition(feed), newest);
      return first.sqlite;
    }
    const state = new IndexState(first.sqlite);
    const seen = state.seen();
    const identity = messages.identity(seen.offset);
    if (!isReplaced(seen, identity)) {
      state.see(resumePosition(state, parts), { ...seen, inode: identity.inode });
      return first.sqlite;
    }
  } catch (error) {
    first.sqlite.close();
    throw error;
  }
  log.warn('the Messages database was replaced: rebuilding the search index');
  first.sqlite.close();
  deleteIndex(path);
  return openCurrent(parts);
}

function newestPosition(feed: SessionParts['feed']): IndexPosition {
  return { ...feed.lastPublished({ changes: true }), generation: feed.changeGeneration() };
}

/**
 * Returns the stored position if the change log still reaches back to it. Otherwise returns the newest position, and
 * makes the walk index everything again.
 */
function resumePosition(state: IndexState, { feed, log }: SessionParts): IndexPosition {
  const position = state.position();
  try {
    const { rowId, change }: Offset = feed.resolve(position, { changes: true });
    return { rowId, change, generation: position.generation };
  } catch (error) {
    if (!isAppError(error)) throw error;
    if (error.code === 'changes_disabled') return { ...rowOffset(position.rowId), generation: position.generation };
    if (error.code !== 'offset_expired') throw error;
    log.warn('the log of changes does not go back far enough: indexing all messages again');
    state.indexAgain(Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER);
    return newestPosition(feed);
  }
}
