import type { OpenNative } from './native.ts';

/** The native module better-sqlite3. Rejects where it is not installed or not built for this Node. */
export async function loadBetterSqlite3(): Promise<OpenNative> {
  const { default: Database } = await import('better-sqlite3');
  // The compiled part is loaded only when the first database is opened.
  new Database(':memory:').close();
  return (path, { readonly, busyTimeoutMs }) => {
    const database = new Database(path, { readonly, fileMustExist: readonly, timeout: busyTimeoutMs });
    return {
      prepare(sql) {
        const statement = database.prepare(sql);
        return statement.reader ? statement.raw() : statement;
      },
      exec: (sql) => void database.exec(sql),
      close: () => void database.close(),
    };
  };
}
