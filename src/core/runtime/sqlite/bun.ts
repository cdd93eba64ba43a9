import { named } from './error-names.ts';
import type { OpenNative, SqlValue } from './native.ts';

/** SQLITE_OPEN_READONLY and SQLITE_OPEN_URI. */
const READ_URI = 0x41;

interface BunDatabase {
  prepare(sql: string): {
    values(...parameters: SqlValue[]): unknown[][];
    run(...parameters: SqlValue[]): { changes: number };
  };
  run(sql: string): unknown;
  close(): void;
}

export async function loadBunSqlite(): Promise<OpenNative> {
  // Avoids a literal in `import`, so that the type checker does not look for Bun's module.
  const name = 'bun:sqlite';
  const { Database } = (await import(name)) as {
    Database: new (path: string, options: object | number) => BunDatabase;
  };
  return (path, { readonly, busyTimeoutMs }) => {
    const options = readonly ? { readonly: true } : { readwrite: true, create: true };
    const database = named(() => new Database(path, path.startsWith('file:') ? READ_URI : options));
    database.run(`PRAGMA busy_timeout = ${busyTimeoutMs}`);
    return {
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
    };
  };
}
