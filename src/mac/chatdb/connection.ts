import { accessSync, constants, opendirSync, realpathSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import type { LogIdentity } from '../../domain/cursor.ts';
import { type AppError, errorCode, isAppError } from '../../domain/errors.ts';
import type { Offset } from '../../domain/offset.ts';
import type { Log } from '../../domain/ports/host.ts';
import type { BackendHealth } from '../../domain/ports/reading.ts';
import { problem } from '../../domain/problems.ts';
import { toText } from './columns.ts';
import { type ChatDatabaseOptions, ChatDbHandle } from './database.ts';
import { Snapshot } from './snapshot.ts';

/** `changed`: there may be something new. `away`: chat.db cannot be read; health says why. */
export type DatabaseChange = 'changed' | 'unchanged' | 'away';

/** The files may change under an opening, but hardly under each of several. */
const MAX_OPENINGS = 4;

interface Open {
  readonly database: ChatDbHandle;
  files: Files;
  version: number;
  snapshot: { readonly version: number; readonly value: Snapshot } | undefined;
}

/**
 * The one live handle on chat.db. It follows the path: a replaced file, a new -wal or -shm (left by a killed
 * Messages) or a file overwritten in place mean opening it again; a failure closes it, and every check tries again (decisions C5, C6).
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

  /** Sees whether anything changed since the last check, opening the database if need be. Never throws. */
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
      // Written to, but not by SQLite's rules: whatever is cached is worth nothing.
      return files.touched === this.#open.files.touched ? 'unchanged' : this.#reopen();
    } catch (error) {
      this.#lose(error);
      return 'away';
    }
  }

  /** Whether a check may find something: a commit, or the database back. By far cheaper than one; it opens nothing. */
  mayHaveChanged(): boolean {
    try {
      return this.#open === undefined || this.#open.database.version() !== this.#open.version;
    } catch {
      return true; // what is wrong, a check tells
    }
  }

  /** The snapshot of now, without reading anything else: another object after each commit. */
  snapshot(): unknown {
    const open = this.#open;
    if (open?.snapshot === undefined || open.snapshot.version !== open.database.version())
      return this.read((now) => now);
    return open.snapshot.value;
  }

  /** Reads from the database as it is now. Throws `chat_db_unavailable` while it cannot be read (decision C6). */
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

  /** Whether this process may read the file; undefined when something else keeps it from reading. */
  get access(): 'granted' | 'denied' | undefined {
    if (this.#open !== undefined) return 'granted';
    return isRefusal(this.#failure?.cause) ? 'denied' : undefined;
  }

  /**
   * Which file is open, as text that is compared and nothing else. It is the same after a restart of the machine.
   */
  get fileId(): string {
    return this.#open?.files.lasting ?? '';
  }

  /** Where the file itself is, links followed. Its -wal and -shm are beside it. */
  get filePath(): string {
    return this.#open?.files.path ?? this.path;
  }

  /** Which -wal is beside it, null when there is none. */
  get walId(): string | null {
    return this.#open?.files.wal ?? null;
  }

  close(): void {
    this.#isClosed = true;
    this.#shut();
  }

  #reopen(): DatabaseChange {
    this.#shut();
    // Messages may be changing the files at this very moment, and a handle does not tell which -wal it holds: only
    // what was there before and after opening alike is certainly what was opened. The first opening may make the
    // -wal and the -shm itself, and so needs a second one.
    for (let attempt = 1; this.#open === undefined; attempt += 1) {
      const before = findFiles(this.path);
      const database = ChatDbHandle.open(this.#options);
      try {
        const version = database.version();
        const after = findFiles(this.path);
        if (areSameFiles(before, after) || attempt === MAX_OPENINGS)
          this.#open = { database, version, files: before, snapshot: undefined };
        else database.close();
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

/** The files of a database on disk, found without opening any (decision B1). */
interface Files {
  /** Where the database itself is: SQLite follows links, and keeps the -wal and the -shm there. */
  readonly path: string;
  /** Which file this is: inode and time of birth, since an inode may be given again. null when there is none. */
  readonly database: string | null;
  /** The same without its device: that has another number after every mount (POSIX, st_dev). */
  readonly lasting: string;
  readonly wal: string | null;
  readonly shm: string | null;
  /** Changes when somebody writes to the database file itself. */
  readonly touched: string;
}

/**
 * Throws with code `ENOENT`, `EACCES`, … when the database cannot be found or may not be read; AppError when it is
 * empty or a pipe.
 */
function findFiles(configuredPath: string): Files {
  const path = realPath(configuredPath);
  const database = statSync(path, { bigint: true });
  accessSync(path, constants.R_OK);
  // SQLite would wait at a pipe until somebody writes to it, and the whole process with it.
  if (database.isFIFO()) throw problem('chat_db_is_pipe');
  // SQLite takes a -wal beside an empty database for a leftover and deletes it, even when it only reads.
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

/** macOS 27 shows a protected file as missing, and refuses to list its folder as before (decision T5). */
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

/** What went wrong with chat.db, as a person can use it; every public read throws this while it lasts (decision C6). */
export function toUnavailable(cause: unknown): AppError {
  if (isAppError(cause)) return cause;
  const code = errorCode(cause) ?? '';
  const [, name] = CAUSES.find(([codes]) => codes.test(code)) ?? [];
  return name === undefined
    ? problem('chat_db_unreadable', { code: code || 'unknown error' }, { cause })
    : problem(name, {}, { cause });
}

/** True when the file is there and this process may not open it. */
function isRefusal(error: unknown): boolean {
  return REFUSALS.test(errorCode(error) ?? '');
}

/** True for failures of the database or the file, as opposed to mistakes in this program. */
function isStorageFailure(error: unknown): boolean {
  return /^(SQLITE_|E[A-Z]+$)/.test(errorCode(error) ?? '');
}

export interface ChatDbPlace {
  readonly chatDbPath: string;
  readonly homeFolder: string;
}

/** For programs that are not the service: opens chat.db for one read. Throws AppError `chat_db_unavailable` when it cannot. */
export function readOnce<Result>(
  { chatDbPath, homeFolder }: ChatDbPlace,
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

/** Facts for `isReplaced`, inside a read of the caller. */
export function identityAt({ database, queries }: Snapshot, inode: string, { rowId }: Offset): LogIdentity {
  const row = database.get(queries.guid, rowId);
  return {
    inode,
    guidAtCursor: row === undefined ? null : toText(row[0]),
    highestRowId: Number(database.get(queries.highestRowId)?.[0] ?? 0),
  };
}
