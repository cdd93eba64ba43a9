import type { OpenNative } from './native.ts';

/** Loads the native module better-sqlite3. Rejects if it is not installed or was built for another version of Node. */
export async function loadBetterSqlite3(): Promise<OpenNative> {
  const { default: Database } = await import('better-sqlite3');
  // Importing better-sqlite3 does not load its native part, but opening a database does. It reads this variable once,
  // and has no other way to allow `file:` URIs.
  process.env.SQLITE_USE_URI = '1';
  new Database(':memory:').close();
  delete process.env.SQLITE_USE_URI;
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
