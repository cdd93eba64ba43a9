import { named } from './error-names.ts';
import type { NativeValue, OpenNative } from './native.ts';

interface BunDatabase {
  prepare(sql: string): {
    values(...parameters: NativeValue[]): unknown[][];
    run(...parameters: NativeValue[]): { changes: number };
  };
  run(sql: string): unknown;
  close(): void;
}

/** Bun's own bun:sqlite. */
export async function loadBunSqlite(): Promise<OpenNative> {
  // The name is not a literal so that Node's type checker need not know Bun's own module.
  const name = 'bun:sqlite';
  const { Database } = (await import(name)) as { Database: new (path: string, options: object) => BunDatabase };
  return (path, { readonly, busyTimeoutMs }) => {
    const database = named(() => new Database(path, readonly ? { readonly: true } : { readwrite: true, create: true }));
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
