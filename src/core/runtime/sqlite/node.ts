import { named } from './error-names.ts';
import type { OpenNative, SqlValue } from './native.ts';

interface NodeStatement {
  setReturnArrays(enabled: boolean): void;
  setReadBigInts(enabled: boolean): void;
  all(...parameters: SqlValue[]): unknown[][];
  get(...parameters: SqlValue[]): unknown[] | undefined;
  run(...parameters: SqlValue[]): { changes: number | bigint };
}

interface NodeSqlite {
  readonly DatabaseSync: new (
    path: string,
    options: { readOnly: boolean; timeout: number },
  ) => { prepare(sql: string): NodeStatement; exec(sql: string): void; close(): void };
}

/** The Node version that added `timeout` and `setReturnArrays` to node:sqlite. */
const NEEDED = [22, 16] as const;

/** Loads node:sqlite. Returns undefined if Node is older than 22.16 or runs with `--no-experimental-sqlite`. */
export function loadNodeSqlite(): OpenNative | undefined {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
  if (major < NEEDED[0] || (major === NEEDED[0] && minor < NEEDED[1])) return undefined;
  const { DatabaseSync } = withoutWarning() ?? {};
  if (DatabaseSync === undefined) return undefined;
  return (path, { readonly, busyTimeoutMs }) => {
    const database = named(() => new DatabaseSync(path, { readOnly: readonly, timeout: busyTimeoutMs }));
    return {
      prepare(sql) {
        const statement = named(() => database.prepare(sql));
        statement.setReturnArrays(true);
        // Reads integers as bigint. Dates in chat.db exceed 2^53, and node:sqlite throws when it reads such an integer
        // as a number.
        statement.setReadBigInts(true);
        return {
          all: (...parameters) => named(() => statement.all(...parameters)).map(asNumbers),
          get(...parameters) {
            const row = named(() => statement.get(...parameters));
            return row && asNumbers(row);
          },
          run: (...parameters) => named(() => statement.run(...parameters)),
        };
      },
      exec: (sql) => named(() => database.exec(sql)),
      close: () => database.close(),
    };
  };
}

function asNumbers(row: unknown[]): unknown[] {
  for (const [index, value] of row.entries()) if (typeof value === 'bigint') row[index] = Number(value);
  return row;
}

/** Loads node:sqlite without Node 22's warning that SQLite is experimental. Other warnings still appear. */
function withoutWarning(): NodeSqlite | undefined {
  const original = process.emitWarning.bind(process) as (...given: unknown[]) => void;
  process.emitWarning = (...given: unknown[]) => {
    const isExpected = given[1] === 'ExperimentalWarning' && String(given[0]).startsWith('SQLite ');
    if (!isExpected) original(...given);
  };
  try {
    return process.getBuiltinModule('node:sqlite') as NodeSqlite;
  } finally {
    process.emitWarning = original;
  }
}
