import type { AssociatedRows } from '../../../core/model/associated-rows.ts';
import { claimPrivateFile } from '../../../core/runtime/private-file.ts';
import { type OpenOptions, openSqlite, type Sqlite } from '../../../core/runtime/sqlite.ts';
import { deleteIndex } from './index-file.ts';

/** Version of the index. An index with another version is deleted and built again from chat.db. */
const VERSION = 6;
/** Added to `VERSION` for an index built with `by_kind`. Such an index also contains messages of apps (decision U5). */
const BY_KIND = 1000;

/**
 * `begun` has the row that is being decoded, if any, and `skipped` the rows that are not decoded (`skipped-rows.ts`).
 */
const SKIPPED_TABLES = `
  CREATE TABLE IF NOT EXISTS begun (one INTEGER PRIMARY KEY CHECK (one = 1), row INTEGER NOT NULL) STRICT;
  CREATE TABLE IF NOT EXISTS skipped (row INTEGER PRIMARY KEY) STRICT;
`;

/**
 * `doc` maps each document to its row, and a removed document to NULL (`documents.ts`). `ft` stores the positions of
 * each word, but no text. `tokens.ts` makes the words; SQLite's tokenizer only separates them.
 */
const SCHEMA = `
  CREATE TABLE about (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    row_id INTEGER NOT NULL,
    change INTEGER NOT NULL,
    generation INTEGER NOT NULL,
    seen_row INTEGER NOT NULL,
    seen_guid TEXT,
    inode TEXT NOT NULL,
    docs INTEGER NOT NULL DEFAULT 0,
    shift INTEGER NOT NULL DEFAULT 0,
    next TEXT,
    reached INTEGER,
    is_complete INTEGER NOT NULL DEFAULT 0,
    checked_at INTEGER NOT NULL DEFAULT 0,
    again_first INTEGER,
    again_last INTEGER,
    removed INTEGER NOT NULL DEFAULT 0
  ) STRICT;
  CREATE TABLE doc (id INTEGER PRIMARY KEY, row INTEGER) STRICT;
  ${SKIPPED_TABLES}
  ${fullTextTable('ft')}
  INSERT INTO ft(ft, rank) VALUES ('pgsz', 1000), ('automerge', 0), ('crisismerge', 1000), ('usermerge', 8);
`;

function fullTextTable(name: string): string {
  return `CREATE VIRTUAL TABLE ${name} USING fts5(body, content='', contentless_delete=1, detail=full, tokenize='ascii');`;
}

/** Returns the reason why the SQLite library in use cannot create the index; undefined if it can. */
export function missingFullText(open = () => openSqlite(':memory:')): string | undefined {
  const probe = open();
  try {
    probe.exec(fullTextTable('probe'));
    return undefined;
  } catch {
    const version = String(probe.prepare('SELECT sqlite_version()').get()?.[0]);
    return `SQLite ${version} cannot hold the index, which needs FTS5 and SQLite 3.43 or newer (Node 22.16 includes both)`;
  } finally {
    probe.close();
  }
}

/**
 * Opens the index. First deletes and recreates it if it has another version, or was built with another value of
 * `associatedRows`. `isNew` is true if nothing has been indexed yet.
 */
export function openIndex(
  path: string,
  associatedRows: AssociatedRows = 'reactions',
): { readonly sqlite: Sqlite; readonly isNew: boolean } {
  const wanted = associatedRows === 'by_kind' ? VERSION + BY_KIND : VERSION;
  const sqlite = open(path);
  const version = Number(sqlite.prepare('PRAGMA user_version').get()?.[0]);
  if (version === wanted) {
    sqlite.exec(SKIPPED_TABLES); // indexes of earlier versions of Postern lack them
    return { sqlite, isNew: sqlite.prepare('SELECT 1 FROM about').get() === undefined };
  }
  sqlite.close();
  deleteIndex(path);
  const made = open(path);
  made.transaction(() => {
    made.exec(SCHEMA);
    made.exec(`PRAGMA user_version = ${wanted}`);
  });
  return { sqlite: made, isNew: true };
}

/** Opens the index for frequent small writes. Creates an empty file if it is missing. */
function open(path: string): Sqlite {
  claimPrivateFile(path);
  return opened(path, {}, `PRAGMA journal_mode = WAL; ${FOR_WRITING}; PRAGMA cache_size = -1024`);
}

/** Opens an index that `openIndex` has created, as a second connection for long work. */
export function openIndexForWriting(path: string): Sqlite {
  return opened(path, {}, `${FOR_WRITING}; PRAGMA cache_size = -2048`);
}

const FOR_WRITING = 'PRAGMA synchronous = NORMAL; PRAGMA secure_delete = ON';

/**
 * Opens the index for a program or thread that only queries it. Adds a temporary table `words`, which has one row for
 * each occurrence of a word.
 */
export function openIndexForReading(path: string): Sqlite {
  return opened(
    path,
    { readonly: true },
    `PRAGMA temp_store = MEMORY; PRAGMA cache_size = -2048;
     CREATE VIRTUAL TABLE temp.words USING fts5vocab(main, ft, instance); PRAGMA query_only = 1`,
  );
}

function opened(path: string, options: OpenOptions, sql: string): Sqlite {
  const sqlite = openSqlite(path, options);
  try {
    sqlite.exec(sql);
    return sqlite;
  } catch (error) {
    sqlite.close();
    throw error;
  }
}
