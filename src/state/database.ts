import { closeSync, openSync } from 'node:fs';
import { AppError, isAppError } from '../domain/errors.ts';
import { openSqlite, type Sqlite } from '../runtime/sqlite.ts';

/** Each entry takes the schema one version further; `user_version` counts how many have been applied. */
const MIGRATIONS = [
  `CREATE TABLE cursor (
     one INTEGER PRIMARY KEY CHECK (one = 1),
     row_id INTEGER NOT NULL,
     guid TEXT,
     inode TEXT NOT NULL
   ) STRICT;
   CREATE TABLE webhook (
     number INTEGER PRIMARY KEY AUTOINCREMENT,
     id TEXT NOT NULL UNIQUE,
     url TEXT NOT NULL,
     events TEXT NOT NULL,
     secret TEXT,
     include_details INTEGER NOT NULL,
     created_at TEXT NOT NULL,
     row_id INTEGER NOT NULL,
     consecutive_failures INTEGER NOT NULL DEFAULT 0,
     last_success_at TEXT
   ) STRICT;
   CREATE TABLE delivery (
     number INTEGER PRIMARY KEY AUTOINCREMENT,
     webhook TEXT NOT NULL REFERENCES webhook (id) ON DELETE CASCADE,
     id TEXT NOT NULL,
     at TEXT NOT NULL,
     event TEXT NOT NULL,
     row_id INTEGER NOT NULL,
     outcome TEXT NOT NULL,
     attempts INTEGER NOT NULL,
     status INTEGER,
     error TEXT,
     duration_ms INTEGER NOT NULL
   ) STRICT;
   CREATE INDEX delivery_by_webhook ON delivery (webhook, number);
   CREATE TABLE send (
     key_hash TEXT PRIMARY KEY,
     request_hash TEXT NOT NULL,
     claimed_at_ms INTEGER NOT NULL,
     state TEXT NOT NULL,
     row_id INTEGER,
     problem TEXT
   ) STRICT;`,
  `CREATE TABLE consumer (
     name TEXT PRIMARY KEY,
     row_id INTEGER NOT NULL,
     change INTEGER NOT NULL
   ) STRICT, WITHOUT ROWID;
   INSERT INTO consumer SELECT 'webhook/' || id, row_id, 0 FROM webhook;
   ALTER TABLE webhook DROP COLUMN row_id;
   ALTER TABLE webhook ADD COLUMN include TEXT NOT NULL DEFAULT '[]';
   UPDATE webhook SET include = '["details"]' WHERE include_details <> 0;
   ALTER TABLE webhook DROP COLUMN include_details;
   ALTER TABLE cursor ADD COLUMN change INTEGER NOT NULL DEFAULT 0;`,
];

/**
 * Opens the service's own database (decision A5), mode 0600, and brings its schema up to date.
 * Throws AppError `internal` / `state_db_unusable` with what is wrong.
 */
export function openStateDatabase(path: string): Sqlite {
  try {
    // Created here so that it never exists with another mode; SQLite gives its side files the same one.
    closeSync(openSync(path, 'a', 0o600));
    const database = openSqlite(path);
    database.exec('PRAGMA journal_mode = WAL');
    // A commit survives a crash of the process; what must survive a power cut asks for FULL itself.
    database.exec('PRAGMA synchronous = NORMAL');
    // A checkpoint waits for the disk: one in 16 MiB instead of one in 4.
    database.exec('PRAGMA wal_autocheckpoint = 4000');
    database.exec('PRAGMA foreign_keys = ON');
    migrate(database, path);
    return database;
  } catch (error) {
    if (isAppError(error)) throw error;
    throw new AppError('internal', 'state_db_unusable', `The state database ${path} cannot be used: ${String(error)}`, {
      hint: 'Stop the service and move the file away; registered webhooks are kept in it and must be registered again.',
      cause: error,
    });
  }
}

function migrate(database: Sqlite, path: string): void {
  const version = Number(database.prepare('PRAGMA user_version').get()?.[0] ?? 0);
  if (version > MIGRATIONS.length) {
    throw new AppError('internal', 'state_db_unusable', `The state database ${path} was written by a newer version.`, {
      hint: 'Update Postern, or move the file away to start with an empty one.',
    });
  }
  database.transaction(() => {
    for (const migration of MIGRATIONS.slice(version)) database.exec(migration);
    database.exec(`PRAGMA user_version = ${MIGRATIONS.length}`);
  });
}
