import { pathToFileURL } from 'node:url';
import { AppError } from '../model/errors.ts';
import type { NativeDatabase, OpenNative, SqlValue } from './sqlite/native.ts';

// One small interface to three SQLite libraries: better-sqlite3 on Node, node:sqlite where better-sqlite3 cannot be
// loaded, and bun:sqlite on Bun. With each, a missing row is undefined, a BLOB is a Uint8Array, an integer is a number,
// and an error has a `code`.

export type { SqlValue };

/** One row as an array, in the order of the selected columns. */
export type Row = readonly SqlValue[];

export interface Statement {
  /** Returns all rows. */
  all(...parameters: SqlValue[]): Row[];
  /** Returns the first row, or undefined. */
  get(...parameters: SqlValue[]): Row | undefined;
  /** Returns the number of changed rows. */
  run(...parameters: SqlValue[]): number;
}

export interface Sqlite {
  prepare(sql: string): Statement;
  /** Runs several statements without parameters. */
  exec(sql: string): void;
  /** Runs `work` in one immediate transaction. */
  transaction<Result>(work: () => Result): Result;
  close(): void;
}

export interface OpenOptions {
  /** True to open an existing file read-only. False to open it for writing, and create it if it is missing. */
  readonly readonly?: boolean;
  /**
   * How long a statement waits for a lock that another connection holds. Waiting blocks the event loop, so keep it
   * short.
   */
  readonly busyTimeoutMs?: number;
  /**
   * True to read a file that nothing writes while it is open, without locks and without a -wal or -shm. The only way to
   * open a WAL database in a folder that cannot be written (sqlite.org/wal.html, "Read-Only Databases").
   */
  readonly isImmutable?: boolean;
}

type SqliteLibrary = 'better-sqlite3' | 'bun:sqlite' | 'node:sqlite';

const loaded = await load();

/** The SQLite library in use; undefined if none could be loaded. */
export const sqliteLibrary: SqliteLibrary | undefined = 'library' in loaded ? loaded.library : undefined;

/**
 * Opens a database. Throws an error with a `code` such as `SQLITE_CANTOPEN`, `SQLITE_NOTADB` or `SQLITE_BUSY`. Throws
 * `sqlite_missing` if no SQLite library could be loaded.
 */
export function openSqlite(
  path: string,
  { readonly = false, busyTimeoutMs = 1000, isImmutable = false }: OpenOptions = {},
): Sqlite {
  const name = isImmutable ? `${pathToFileURL(path).href}?immutable=1` : path;
  return wrap(implementation()(name, { readonly: readonly || isImmutable, busyTimeoutMs }));
}

/** Throws `sqlite_missing` if no SQLite library could be loaded. */
export function assertSqlite(): void {
  implementation();
}

function implementation(): OpenNative {
  if ('open' in loaded) return loaded.open;
  throw sqliteMissing(loaded.cause);
}

async function load(): Promise<{ library: SqliteLibrary; open: OpenNative } | { cause: unknown }> {
  if ('Bun' in globalThis) {
    return { library: 'bun:sqlite', open: await (await import('./sqlite/bun.ts')).loadBunSqlite() };
  }
  try {
    const { loadBetterSqlite3 } = await import('./sqlite/better-sqlite3.ts');
    return { library: 'better-sqlite3', open: await loadBetterSqlite3() };
  } catch (cause) {
    const open = (await import('./sqlite/node.ts')).loadNodeSqlite();
    return open === undefined ? { cause } : { library: 'node:sqlite', open };
  }
}

/**
 * Returns the error `sqlite_missing` with a hint. The hint depends on whether npm installed Postern, which `moduleUrl`
 * shows.
 */
export function sqliteMissing(cause: unknown, moduleUrl = import.meta.url): AppError {
  const node = `Node ${process.versions.node}`;
  // An npm installation lacks the sources from which better-sqlite3 could be built.
  if (moduleUrl.includes('/node_modules/postern/')) {
    return new AppError('sqlite_missing', `${node} does not include SQLite.`, {
      hint: 'Install Node 22.16 or newer.',
      cause,
    });
  }
  return new AppError(
    'sqlite_missing',
    `${node} does not include SQLite, and the library better-sqlite3 has not been built.`,
    {
      hint: 'Install Node 22.16 or newer. Or build the library, which needs a C++ compiler, Python and the headers of Node: npm ci --foreground-scripts',
      cause,
    },
  );
}

/** Wraps the database of a SQLite library in the common interface. Exported also for tests of each library. */
export function wrap(native: NativeDatabase): Sqlite {
  let closed = false;
  return {
    prepare(sql) {
      const statement = native.prepare(sql);
      return {
        all: (...parameters) => statement.all(...parameters) as Row[],
        get: (...parameters) => (statement.get(...parameters) ?? undefined) as Row | undefined,
        run: (...parameters) => Number(statement.run(...parameters).changes),
      };
    },
    exec: (sql) => native.exec(sql),
    transaction(work) {
      native.exec('BEGIN IMMEDIATE');
      try {
        const result = work();
        native.exec('COMMIT');
        return result;
      } catch (error) {
        rollBack(native);
        throw error;
      }
    },
    close() {
      if (closed) return;
      closed = true;
      native.close();
    },
  };
}

/** Rolls back. Ignores an error: after some failures, such as a full disk, SQLite has already rolled back. */
function rollBack(native: NativeDatabase): void {
  try {
    native.exec('ROLLBACK');
  } catch {
    // The error that ended the transaction is the one to report.
  }
}
