import { AppError } from '../domain/errors.ts';
import type { NativeDatabase, OpenNative } from './sqlite/native.ts';

/**
 * SQLite behind one small interface: better-sqlite3 or else node:sqlite on Node, bun:sqlite on Bun. It reads the
 * same through each: a missing row is undefined, a BLOB a Uint8Array, an integer a number, an error has a `code`.
 */
export type SqlValue = string | number | bigint | null | Uint8Array;
/** One row as an array, in the order of the selected columns. */
export type Row = readonly SqlValue[];

export interface Statement {
  /** All rows. */
  all(...parameters: SqlValue[]): Row[];
  /** The first row, or undefined. */
  get(...parameters: SqlValue[]): Row | undefined;
  /** Number of changed rows. */
  run(...parameters: SqlValue[]): number;
}

export interface Sqlite {
  prepare(sql: string): Statement;
  /** Several statements, without parameters. */
  exec(sql: string): void;
  /** Runs `work` in one immediate transaction: all of it or nothing. */
  transaction<Result>(work: () => Result): Result;
  close(): void;
}

export interface OpenOptions {
  /** Opens an existing file for reading only; otherwise the file is created when missing. */
  readonly readonly?: boolean;
  /** How long a statement waits for another process's lock. Blocks the event loop: keep it short. */
  readonly busyTimeoutMs?: number;
}

type SqliteLibrary = 'better-sqlite3' | 'bun:sqlite' | 'node:sqlite';

const loaded = await load();

/** The implementation in use; undefined where there is none. */
export const sqliteLibrary: SqliteLibrary | undefined = 'library' in loaded ? loaded.library : undefined;

/**
 * Throws an error with a `code` such as `SQLITE_CANTOPEN`, `SQLITE_NOTADB` or `SQLITE_BUSY`. Throws
 * `sqlite_missing` where no implementation can be loaded.
 */
export function openSqlite(path: string, { readonly = false, busyTimeoutMs = 1000 }: OpenOptions = {}): Sqlite {
  return wrap(implementation()(path, { readonly, busyTimeoutMs }));
}

/** Throws `sqlite_missing` where no implementation can be loaded. */
export function assertSqlite(): void {
  implementation();
}

function implementation(): OpenNative {
  if ('open' in loaded) return loaded.open;
  throw missing(loaded.cause);
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

function missing(cause: unknown): AppError {
  const node = `Node ${process.versions.node}`;
  // What npm installed has no sources to build the library from.
  if (import.meta.url.includes('/node_modules/postern/')) {
    return new AppError('sqlite_missing', `${node} has no SQLite of its own: use Node 22.16 or newer.`, { cause });
  }
  return new AppError(
    'sqlite_missing',
    `${node} has no SQLite of its own, and the library better-sqlite3 could not be built here.`,
    {
      hint: 'Install Node 22.16 or newer; or a C++ compiler (on a Mac: xcode-select --install), then run: npm ci',
      cause,
    },
  );
}

/** Also used by the tests of the single implementations. */
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

/** A full disk, among others, makes SQLite roll back by itself: then there is nothing left to do. */
function rollBack(native: NativeDatabase): void {
  try {
    native.exec('ROLLBACK');
  } catch {
    // The error that ended the transaction is the one to be told.
  }
}
