import { rmSync } from 'node:fs';
import { openSqlite, type Sqlite } from '../../core/runtime/sqlite.ts';

const VERSION = 5;
const CACHE_KIB = 8192;

const TABLES = `
  CREATE TABLE file (id INTEGER PRIMARY KEY, path TEXT UNIQUE NOT NULL, key TEXT NOT NULL, lines INTEGER NOT NULL,
    bytes INTEGER NOT NULL, hash TEXT NOT NULL, page TEXT NOT NULL DEFAULT '');
  CREATE TABLE conversation (key TEXT PRIMARY KEY, description TEXT NOT NULL) WITHOUT ROWID;
  CREATE TABLE database (number INTEGER PRIMARY KEY, id TEXT UNIQUE NOT NULL);
  CREATE TABLE entry (id INTEGER PRIMARY KEY, guid TEXT NOT NULL, file INTEGER NOT NULL, n INTEGER NOT NULL,
    first INTEGER NOT NULL, start INTEGER NOT NULL, at INTEGER, print INTEGER NOT NULL, run INTEGER NOT NULL,
    database INTEGER NOT NULL, missing INTEGER NOT NULL, earlier TEXT NOT NULL, twin_of INTEGER);
  CREATE TABLE stored (path TEXT NOT NULL, guid TEXT NOT NULL, n INTEGER NOT NULL, PRIMARY KEY (path, guid, n)) WITHOUT ROWID;
  PRAGMA user_version = ${VERSION};`;

/** Opens the archive's index. Replaces a damaged file by an empty one, and empties a file of another version. */
export function openIndexFile(path: string): Sqlite {
  try {
    return openVersion(path);
  } catch (error) {
    if (!/^SQLITE_(NOTADB|CORRUPT|ERROR)/.test(String((error as { code?: unknown }).code))) throw error;
    for (const side of ['', '-journal', '-wal', '-shm']) rmSync(path + side, { force: true });
    return openVersion(path);
  }
}

function openVersion(path: string): Sqlite {
  const sqlite = openSqlite(path);
  try {
    sqlite.exec(`PRAGMA journal_mode = TRUNCATE; PRAGMA synchronous = NORMAL; PRAGMA cache_size = -${CACHE_KIB};
      PRAGMA temp_store = FILE`);
    const version = Number(sqlite.prepare('PRAGMA user_version').get()?.[0]);
    if (version === VERSION) return sqlite;
    const tables = sqlite.prepare("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'");
    sqlite.transaction(() => {
      for (const [name] of tables.all()) sqlite.exec(`DROP TABLE "${String(name)}"`);
      sqlite.exec(TABLES);
    });
    return sqlite;
  } catch (error) {
    sqlite.close();
    throw error;
  }
}
