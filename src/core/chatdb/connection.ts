import { setImmediate as nextTurn } from 'node:timers/promises';
import { type AppError, isAppError } from '../model/errors.ts';
import type { BackendHealth } from '../model/ports/reading-ports.ts';
import { problem } from '../model/problems.ts';
import { type ChatDatabaseParts, ChatDbHandle } from './chatdb-handle.ts';
import {
  areSameFiles,
  type DatabaseFiles,
  findFiles,
  isInReadOnlyFolder,
  isReadOnlyCopy,
  removeSideFiles,
} from './database-files.ts';
import { type Damage, damageSentence, idRanges } from './read-around.ts';
import { Snapshot } from './snapshot.ts';
import { isCorrupt } from './temporary-tables.ts';
import { isRefusal, isStorageFailure, toUnavailable } from './unavailable.ts';

/** `changed`: there may be something new. `away`: chat.db is unreadable; `health` returns the reason. */
export type DatabaseChange = 'changed' | 'unchanged' | 'away';

/**
 * Maximum attempts to open chat.db while its files are being replaced. Messages may replace them during one attempt,
 * but hardly during four in a row.
 */
const MAX_OPENINGS = 4;
/** Number of joins that are copied at once if chat.db lacks an index. Copying them takes about 20 ms. */
const JOINS_AT_ONCE = 5000;

interface Open {
  readonly database: ChatDbHandle;
  files: DatabaseFiles;
  version: number;
  /** The last commit at which the damage of chat.db was looked for. */
  surveyedAt?: number;
  snapshot: { readonly version: number; readonly value: Snapshot } | undefined;
}

/**
 * Holds the one open handle on chat.db. Reopens chat.db if its path leads to another file, if the -wal or the -shm is a
 * new file (as after Messages was killed), or if the file was overwritten in place. Closes the handle after a failure;
 * every later check tries to open chat.db again (decisions C5, C6).
 */
export class Connection {
  readonly path: string;
  readonly #parts: ChatDatabaseParts;
  #open: Open | undefined;
  #failure: AppError | undefined;
  #isClosed = false;
  /** The files before the copy at `path` was opened for the first time. */
  #before: DatabaseFiles | undefined;
  #damage: { readonly fileId: string; readonly found: Damage } | undefined;
  #isSurveying = false;
  readonly #surveyElsewhere: (() => Promise<Damage>) | undefined;

  /** `surveyElsewhere` finds unreadable rows in another thread. Without it, the read that meets a damaged page does. */
  constructor(parts: ChatDatabaseParts, surveyElsewhere?: () => Promise<Damage>) {
    this.path = parts.path;
    this.#parts = parts;
    this.#surveyElsewhere = surveyElsewhere;
  }

  /** Reports whether anything changed since the last check. Opens the database if necessary. Never throws. */
  check(): DatabaseChange {
    if (this.#isClosed) return 'away';
    try {
      const files = findFiles(this.path);
      if (this.#open === undefined || !areSameFiles(files, this.#open.files)) return this.#reopen();
      const version = this.#open.database.version();
      if (version !== this.#open.version) {
        if (this.#open.database.hasNewSchema()) return this.#reopen();
        this.#open.version = version;
        this.#open.files = findFiles(this.path);
        return 'changed';
      }
      // If only `touched` differs, a program wrote to the file without SQLite's locks, so no cached data can be
      // trusted.
      return files.touched === this.#open.files.touched ? 'unchanged' : this.#reopen();
    } catch (error) {
      this.#lose(error);
      return 'away';
    }
  }

  /**
   * Reports whether a check may find something: a commit, or a database that is readable again. Opens nothing and is
   * much cheaper than a check.
   */
  mayHaveChanged(): boolean {
    try {
      return this.#open === undefined || this.#open.database.version() !== this.#open.version;
    } catch {
      return true; // a check reports the problem
    }
  }

  /** Returns an object that stands for the current state of chat.db: a different object after each commit. */
  snapshot(): unknown {
    const open = this.#open;
    if (open?.snapshot === undefined || open.snapshot.version !== open.database.version()) {
      return this.read((now) => now);
    }
    return open.snapshot.value;
  }

  /** Reads from the current database. Throws `chat_db_unavailable` while it is unreadable (decision C6). */
  read<Result>(use: (snapshot: Snapshot) => Result): Result {
    if (this.#open === undefined && this.#failure === undefined) this.check();
    const open = this.#open;
    if (open === undefined) throw this.#failure ?? toUnavailable(undefined);
    if (open.database.isPreparing) throw problem('chat_db_index_in_progress');
    try {
      return open.database.inTransaction(() => use(snapshotOf(open)));
    } catch (error) {
      if (isAppError(error) || !isStorageFailure(error)) throw error;
      if (!isCorrupt(error)) throw this.#lose(error);
      // The rest of chat.db can still be read, so the connection stays open.
      if (!this.#lookForDamage(open)) throw toUnavailable(error);
      return this.read(use);
    }
  }

  /** Finds the rows that cannot be read, and skips them from now on. */
  survey(): Damage {
    this.read(() => undefined);
    const open = this.#open;
    if (open === undefined) throw this.#failure ?? toUnavailable(undefined);
    const found = open.database.survey();
    this.#skip(open, found);
    return found;
  }

  /** Runs SQLite's quick check, outside a transaction: one that has met a damaged page cannot be committed. */
  quickCheck(limit: number): readonly string[] {
    this.read(() => undefined);
    return this.#open?.database.quickCheck(limit) ?? [];
  }

  /** The damage that reads have met so far; undefined if there is none. */
  get damage(): Damage | undefined {
    return this.#damage?.fileId === this.fileId ? this.#damage.found : undefined;
  }

  health(): BackendHealth {
    const failure = this.#failure;
    if (failure === undefined) {
      const message = (this.damage && damageSentence(this.damage)) ?? null;
      return { connected: this.#open !== undefined, message };
    }
    return { connected: false, message: [failure.message, failure.hint].filter(Boolean).join(' ') };
  }

  /**
   * This process's permission to read chat.db; undefined if something other than a missing permission prevents reading.
   */
  get access(): 'granted' | 'denied' | undefined {
    if (this.#open !== undefined) return 'granted';
    return isRefusal(this.#failure?.cause) ? 'denied' : undefined;
  }

  /** Identifies the open file; "" if none is open. Only for comparisons. Stays the same when the machine restarts. */
  get fileId(): string {
    return this.#open?.files.lasting ?? '';
  }

  /** Real path of the file, with links resolved. Its -wal and -shm are beside it. */
  get filePath(): string {
    return this.#open?.files.path ?? this.path;
  }

  /** Identifies the -wal beside the database; null if there is none. */
  get walId(): string | null {
    return this.#open?.files.wal ?? null;
  }

  close(): void {
    this.#isClosed = true;
    this.#shut();
    if (this.#before !== undefined) removeSideFiles(this.#before, this.#parts.home);
  }

  #reopen(): DatabaseChange {
    this.#shut();
    // Messages may be replacing the files right now, and a handle does not tell which -wal it has open. So the handle
    // is kept only if the files are the same before and after opening; the last attempt keeps its handle anyway. If an
    // opening itself creates the -wal and the -shm, another attempt follows.
    for (let attempt = 1; this.#open === undefined; attempt += 1) {
      const before = findFiles(this.path);
      if (this.#before?.path !== before.path) this.#before = before;
      const database = this.#openFile(before);
      try {
        const version = database.version();
        const after = findFiles(this.path);
        if (areSameFiles(before, after) || attempt === MAX_OPENINGS) {
          this.#open = { database, version, files: before, snapshot: undefined };
          if (database.isPreparing) void this.#prepare(this.#open);
          if (this.damage !== undefined) this.#skip(this.#open, this.damage);
        } else database.close();
      } catch (error) {
        database.close();
        throw error;
      }
    }
    this.#failure = undefined;
    return 'changed';
  }

  #openFile(files: DatabaseFiles): ChatDbHandle {
    const { home } = this.#parts;
    try {
      return ChatDbHandle.open(this.#parts, {
        isImmutable: isReadOnlyCopy(files, home),
        inSlices: this.#surveyElsewhere !== undefined,
      });
    } catch (error) {
      if (isCorrupt(error) || isAppError(error) || !isInReadOnlyFolder(files)) throw error;
      throw problem('chat_db_read_only_folder', {}, { cause: error });
    }
  }

  /** Makes up for a missing index, in slices between which the event loop turns. */
  async #prepare(open: Open): Promise<void> {
    try {
      while (this.#open === open) {
        open.database.prepare(JOINS_AT_ONCE);
        if (!open.database.isPreparing) break;
        await nextTurn();
      }
      // Makes the next check report a change. No turn lies between this and the first read that succeeds.
      open.version = Number.NaN;
    } catch (error) {
      if (this.#open === open) this.#lose(error);
    }
  }

  /**
   * Called when a read met a damaged page. Returns true if the read is worth another attempt, because the damage was
   * found. Otherwise it may be found elsewhere, and `check` then reports a change.
   */
  #lookForDamage(open: Open): boolean {
    if (this.#isSurveying) return false;
    const { damage } = this;
    if (open.surveyedAt !== undefined && damage !== undefined && !damage.hasBadIndex) {
      // Every row could be read, so the damaged page belongs to an index, or is new: then another survey follows.
      this.#skip(open, { ...damage, hasBadIndex: true });
      return true;
    }
    if (open.surveyedAt === open.database.version()) return false;
    if (this.#surveyElsewhere === undefined) {
      this.#skip(open, open.database.survey());
      return true;
    }
    void this.#surveyLater(open, this.#surveyElsewhere);
    return false;
  }

  async #surveyLater(open: Open, survey: () => Promise<Damage>): Promise<void> {
    this.#isSurveying = true;
    try {
      const found = await survey();
      if (this.#open === open) this.#skip(open, found);
    } catch (error) {
      this.#parts.log.debug('could not find out which rows of chat.db are damaged', { error });
    }
    this.#isSurveying = false;
  }

  #skip(open: Open, found: Damage): void {
    open.database.skip(found);
    if (!found.hasBadIndex) open.surveyedAt = open.database.version();
    open.snapshot = undefined;
    open.version = Number.NaN; // makes the next check report a change
    if (found === this.#damage?.found) return;
    this.#damage = { fileId: open.files.lasting, found };
    const rows = found.tables.filter(({ rowIds }) => rowIds.length > 0);
    this.#parts.log.warn('chat.db is damaged: some rows cannot be read and are skipped', {
      rows: Object.fromEntries(rows.map(({ table, rowIds }) => [table, idRanges(rowIds)])),
      index: found.hasBadIndex,
    });
  }

  #lose(error: unknown): AppError {
    this.#shut();
    this.#failure = toUnavailable(error);
    return this.#failure;
  }

  #shut(): void {
    this.#open?.database.close();
    this.#open = undefined;
  }
}

function snapshotOf(open: Open): Snapshot {
  const version = open.database.version();
  if (open.snapshot?.version !== version) open.snapshot = { version, value: new Snapshot(open.database) };
  open.snapshot.value.beginRead();
  return open.snapshot.value;
}
