/**
 * SQLite through one small door: better-sqlite3 on Node, bun:sqlite on Bun. The differences that
 * matter are levelled here: a missing row is undefined, a BLOB is a Uint8Array, errors carry a `code`.
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

type Open = (path: string, options: OpenOptions) => Sqlite;

interface NativeStatement {
  all(...parameters: SqlValue[]): unknown[];
  get(...parameters: SqlValue[]): unknown;
  run(...parameters: SqlValue[]): { changes: number | bigint };
}

const isBun = 'Bun' in globalThis;
const openNative: Open = isBun ? await loadBun() : await loadNode();

/** Throws an error with a `code` such as `SQLITE_CANTOPEN`, `SQLITE_NOTADB` or `SQLITE_BUSY`. */
export function openSqlite(path: string, options: OpenOptions = {}): Sqlite {
  return openNative(path, options);
}

async function loadNode(): Promise<Open> {
  const { default: Database } = await import('better-sqlite3');
  return (path, { readonly = false, busyTimeoutMs = 1000 }) => {
    const database = new Database(path, { readonly, fileMustExist: readonly, timeout: busyTimeoutMs });
    return wrap({
      prepare(sql) {
        const statement = database.prepare<SqlValue[]>(sql);
        return statement.reader ? statement.raw() : statement;
      },
      exec: (sql) => void database.exec(sql),
      close: () => void database.close(),
    });
  };
}

async function loadBun(): Promise<Open> {
  // The name is not a literal so that Node's type checker need not know Bun's own module.
  const name = 'bun:sqlite';
  const { Database } = (await import(name)) as { Database: new (path: string, options: object) => BunDatabase };
  return (path, { readonly = false, busyTimeoutMs = 1000 }) => {
    const database = named(() => new Database(path, readonly ? { readonly: true } : { readwrite: true, create: true }));
    database.run(`PRAGMA busy_timeout = ${busyTimeoutMs}`);
    return wrap({
      prepare(sql) {
        const statement = named(() => database.prepare(sql));
        return {
          all: (...parameters) => named(() => statement.values(...parameters)),
          get: (...parameters) => named(() => statement.values(...parameters)[0]),
          run: (...parameters) => named(() => statement.run(...parameters)),
        };
      },
      exec: (sql) => named(() => void database.run(sql)),
      close: () => database.close(),
    });
  };
}

interface BunDatabase {
  prepare(sql: string): {
    values(...parameters: SqlValue[]): unknown[][];
    run(...parameters: SqlValue[]): { changes: number };
  };
  run(sql: string): unknown;
  close(): void;
}

/** Bun's errors may carry only SQLite's number; the name is what better-sqlite3 gives as `code`. */
const SQLITE_NAMES: Readonly<Record<number, string>> = {
  1: 'SQLITE_ERROR',
  5: 'SQLITE_BUSY',
  6: 'SQLITE_LOCKED',
  8: 'SQLITE_READONLY',
  10: 'SQLITE_IOERR',
  11: 'SQLITE_CORRUPT',
  13: 'SQLITE_FULL',
  14: 'SQLITE_CANTOPEN',
  19: 'SQLITE_CONSTRAINT',
  23: 'SQLITE_AUTH',
  26: 'SQLITE_NOTADB',
};

function named<Result>(work: () => Result): Result {
  try {
    return work();
  } catch (error) {
    const failure = error as { code?: unknown; errno?: unknown };
    if (typeof failure.errno === 'number' && typeof failure.code !== 'string') {
      failure.code = SQLITE_NAMES[failure.errno & 0xff] ?? 'SQLITE_ERROR';
    }
    throw error;
  }
}

function wrap(native: { prepare(sql: string): NativeStatement; exec(sql: string): void; close(): void }): Sqlite {
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
        native.exec('ROLLBACK');
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
