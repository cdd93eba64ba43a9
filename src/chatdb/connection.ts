import { type AppError, isAppError } from '../domain/errors.ts';
import type { BackendHealth } from '../domain/ports/reading.ts';
import { ChatDatabase, type ChatDatabaseOptions } from './database.ts';
import { Edition } from './edition.ts';
import { isRefusal, isStorageFailure, toUnavailable } from './failure.ts';
import { areSameFiles, type Files, lookAtFiles } from './files.ts';

/** `changed`: there may be something new. `away`: chat.db cannot be read; health says why. */
export type Look = 'changed' | 'unchanged' | 'away';

/** The files may change under an opening, but hardly under each of several. */
const MOST_OPENINGS = 4;

interface Open {
  readonly database: ChatDatabase;
  files: Files;
  version: number;
  edition: { readonly version: number; readonly learned: Edition } | undefined;
}

/**
 * The one live handle on chat.db. It follows the path: a replaced file, a new -wal or -shm (left by a killed
 * Messages) or a file overwritten in place mean opening anew; a failure closes it, and every look tries again (C5, C6).
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

  /** Sees whether anything changed since the last look, opening the database if need be. Never throws. */
  look(): Look {
    if (this.#isClosed) return 'away';
    try {
      const files = lookAtFiles(this.path);
      if (this.#open === undefined || !areSameFiles(files, this.#open.files)) return this.#reopen();
      const version = this.#open.database.version();
      if (version !== this.#open.version) {
        if (this.#open.database.hasNewSchema()) return this.#reopen();
        this.#open.version = version;
        this.#open.files = lookAtFiles(this.path);
        return 'changed';
      }
      // Written to, but not by SQLite's rules: whatever is cached is worth nothing.
      return files.touched === this.#open.files.touched ? 'unchanged' : this.#reopen();
    } catch (error) {
      this.#lose(error);
      return 'away';
    }
  }

  /** Whether a look may find something: a commit, or the database back. By far cheaper than one; it opens nothing. */
  hasNews(): boolean {
    try {
      return this.#open === undefined || this.#open.database.version() !== this.#open.version;
    } catch {
      return true; // what is wrong, a look tells
    }
  }

  /** Reads from the database as it is now. Throws AppError `unavailable` while it cannot be read (C6). */
  read<Result>(use: (edition: Edition) => Result): Result {
    if (this.#open === undefined && this.#failure === undefined) this.look();
    const open = this.#open;
    if (open === undefined) throw this.#failure ?? toUnavailable(undefined);
    try {
      return open.database.inTransaction(() => use(editionOf(open)));
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

  /** Which file is open, as text that is compared and nothing else. It is the same after the machine was started anew. */
  get fileId(): string {
    return this.#open?.files.lasting ?? '';
  }

  /** Where the file itself lies, links followed. Its -wal and -shm lie beside it. */
  get filePath(): string {
    return this.#open?.files.path ?? this.path;
  }

  /** Which -wal lies beside it, null when there is none. */
  get walId(): string | null {
    return this.#open?.files.wal ?? null;
  }

  close(): void {
    this.#isClosed = true;
    this.#shut();
  }

  #reopen(): Look {
    this.#shut();
    // Messages may be changing the files at this very moment, and a handle does not tell which -wal it holds: only
    // what lay there before and after opening alike is certainly what was opened. The first opening may make the
    // -wal and the -shm itself, and so needs a second one.
    for (let attempt = 1; this.#open === undefined; attempt += 1) {
      const before = lookAtFiles(this.path);
      const database = ChatDatabase.open(this.#options);
      try {
        const version = database.version();
        const after = lookAtFiles(this.path);
        if (areSameFiles(before, after) || attempt === MOST_OPENINGS)
          this.#open = { database, version, files: before, edition: undefined };
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

function editionOf(open: Open): Edition {
  const version = open.database.version();
  if (open.edition?.version !== version) open.edition = { version, learned: new Edition(open.database) };
  return open.edition.learned;
}
