import { named } from './error-names.ts';
import type { OpenNative, SqlValue } from './native.ts';

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
