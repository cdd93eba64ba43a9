import { accessSync, constants, opendirSync, realpathSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import type { LogIdentity } from '../../domain/cursor.ts';
import { type AppError, errorCode, isAppError } from '../../domain/errors.ts';
import type { Offset } from '../../domain/offset.ts';
import type { Log } from '../../domain/ports/host-ports.ts';
import type { BackendHealth } from '../../domain/ports/reading-ports.ts';
import { problem } from '../../domain/problems.ts';
import { type ChatDatabaseOptions, ChatDbHandle } from './chatdb-handle.ts';
import { toText } from './columns.ts';
import { Snapshot } from './snapshot.ts';

/** `changed`: there may be something new. `away`: chat.db is unreadable; `health` returns the reason. */
export type DatabaseChange = 'changed' | 'unchanged' | 'away';

/**
 * Maximum attempts to open chat.db while its files are being replaced. Messages may replace them during one attempt,
 * but hardly during four in a row.
 */
const MAX_OPENINGS = 4;

interface Open {
  readonly database: ChatDbHandle;
  files: Files;
  version: number;
  snapshot: { readonly version: number; readonly value: Snapshot } | undefined;
}

/**
 * Holds the one open handle on chat.db. Reopens chat.db if its path leads to another file, if the -wal or the -shm is a
 * new file (as after Messages was killed), or if the file was overwritten in place. Closes the handle after a failure;
 * every later check tries to open chat.db again (decisions C5, C6).
 */
export class Connection {
  readonly path: string;
  readonly #options: ChatDatabaseOptions;
  #open: Open | undefined;
  #failure: AppError | undefined;
  #isClosed = false;

  constructor(options: ChatDatabaseOptions) {
    this.path = options.path;
    this.#options = options;
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
    try {
      return open.database.inTransaction(() => use(snapshotOf(open)));
    } catch (error) {
      if (isAppError(error) || !isStorageFailure(error)) throw error;
      throw this.#lose(error);
    }
  }

  health(): BackendHealth {
    const failure = this.#failure;
    if (failure === undefined) return { connected: this.#open !== undefined, message: null };
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
  }

  #reopen(): DatabaseChange {
    this.#shut();
    // Messages may be replacing the files right now, and a handle does not tell which -wal it has open. So the handle
    // is kept only if the files are the same before and after opening; the last attempt keeps its handle anyway. If an
    // opening itself creates the -wal and the -shm, another attempt follows.
    for (let attempt = 1; this.#open === undefined; attempt += 1) {
      const before = findFiles(this.path);
      const database = ChatDbHandle.open(this.#options);
      try {
        const version = database.version();
        const after = findFiles(this.path);
        if (areSameFiles(before, after) || attempt === MAX_OPENINGS) {
          this.#open = { database, version, files: before, snapshot: undefined };
        } else database.close();
      } catch (error) {
        database.close();
        throw error;
      }
    }
    this.#failure = undefined;
    return 'changed';
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

/** The files of a database on disk, found without opening them (decision B1). */
interface Files {
  /** Real path of the database. SQLite follows links, and keeps the -wal and the -shm beside the real file. */
  readonly path: string;
  /**
   * Identifies the database file by device, inode and time of birth. The time is included because inodes are reused.
   */
  readonly database: string | null;
  /** `database` without the device, whose number changes with every mount (POSIX, st_dev). */
  readonly lasting: string;
  readonly wal: string | null;
  readonly shm: string | null;
  /** Changes when any program writes to the database file itself. */
  readonly touched: string;
}

/**
 * Returns the identities of the files. Throws an error with code `ENOENT`, `EACCES`, … if the database is missing or
 * may not be read, and an AppError if it is empty or a pipe.
 */
function findFiles(configuredPath: string): Files {
  const path = realPath(configuredPath);
  const database = statSync(path, { bigint: true });
  accessSync(path, constants.R_OK);
  // Opening a pipe would make SQLite, and so the whole process, wait for a writer.
  if (database.isFIFO()) throw problem('chat_db_is_pipe');
  // Even when it only reads, SQLite deletes a -wal beside an empty database, because it mistakes the -wal for a
  // leftover.
  if (database.isFile() && database.size === 0n) throw problem('chat_db_empty');
  return {
    path,
    database: `${database.dev}:${database.ino}:${database.birthtimeNs}`,
    lasting: `${database.ino}:${database.birthtimeNs}`,
    wal: identify(`${path}-wal`),
    shm: identify(`${path}-shm`),
    touched: `${database.size}:${database.mtimeNs}`,
  };
}

/**
 * Returns the path with symbolic links resolved. macOS 27 reports a protected file as missing. So if the file seems to
 * be missing, also opens its folder: if macOS refuses that, throws the refusal instead (decision T5).
 */
function realPath(configuredPath: string): string {
  try {
    return realpathSync.native(configuredPath);
  } catch (error) {
    if (errorCode(error) === 'ENOENT') opendirSync(dirname(configuredPath)).closeSync();
    throw error;
  }
}

function areSameFiles(a: Files, b: Files): boolean {
  return a.database === b.database && a.wal === b.wal && a.shm === b.shm;
}

function identify(path: string): string | null {
  const file = statSync(path, { bigint: true, throwIfNoEntry: false });
  return file === undefined ? null : `${file.dev}:${file.ino}:${file.birthtimeNs}`;
}

const REFUSALS = /^(EPERM|EACCES|SQLITE_CANTOPEN.*|SQLITE_AUTH|SQLITE_PERM)$/;

const CAUSES = [
  [/^(ENOENT|ENOTDIR)$/, 'chat_db_missing'],
  [REFUSALS, 'chat_db_not_permitted'],
  [/^SQLITE_(BUSY|LOCKED|PROTOCOL)/, 'chat_db_locked'],
  [/^SQLITE_(NOTADB|CORRUPT|IOERR_SHORT_READ)/, 'chat_db_damaged'],
] as const;

/**
 * Returns the error that tells the user why chat.db is unreadable. Every public read throws it until chat.db is
 * readable again (decision C6).
 */
export function toUnavailable(cause: unknown): AppError {
  if (isAppError(cause)) return cause;
  const code = errorCode(cause) ?? '';
  const [, name] = CAUSES.find(([codes]) => codes.test(code)) ?? [];
  return name === undefined
    ? problem('chat_db_unreadable', { reason: code || 'unknown error' }, { cause })
    : problem(name, {}, { cause });
}

/** Reports whether the error means that this process may not open the file, although the file exists. */
function isRefusal(error: unknown): boolean {
  return REFUSALS.test(errorCode(error) ?? '');
}

/** Reports whether the failure came from the database or the file, rather than from a bug in this program. */
function isStorageFailure(error: unknown): boolean {
  return /^(SQLITE_|E[A-Z]+$)/.test(errorCode(error) ?? '');
}

export interface ChatDbLocation {
  readonly chatDbPath: string;
  readonly homeFolder: string;
}

/** Opens chat.db for one read, in programs other than the service. Throws `chat_db_unavailable` if that fails. */
export function readOnce<Result>(
  { chatDbPath, homeFolder }: ChatDbLocation,
  read: (connection: Connection) => Result,
): Result {
  const connection = new Connection({ path: chatDbPath, home: homeFolder, log: SILENT });
  try {
    return read(connection);
  } finally {
    connection.close();
  }
}

const SILENT: Log = { debug() {}, info() {}, warn() {}, error() {}, child: () => SILENT };

/** Reads the facts by which `isReplaced` recognizes another chat.db. Call it inside `read`. */
export function identityAt({ database, queries }: Snapshot, inode: string, { rowId }: Offset): LogIdentity {
  const row = database.get(queries.guid, rowId);
  return {
    inode,
    guidAtCursor: row === undefined ? null : toText(row[0]),
    highestRowId: Number(database.get(queries.highestRowId)?.[0] ?? 0),
  };
}
