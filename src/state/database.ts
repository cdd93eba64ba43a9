import { AppError, errorCode, isAppError } from '../domain/errors.ts';
import { CHANGE_EVENT_TYPES, ROW_EVENT_TYPES } from '../domain/event.ts';
import { claimPrivateFile } from '../runtime/private-file.ts';
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
  `CREATE TABLE sent_part (
     number INTEGER PRIMARY KEY AUTOINCREMENT,
     at_ms INTEGER NOT NULL,
     request_id TEXT,
     idempotency_key TEXT,
     after_row_id INTEGER,
     chat TEXT NOT NULL,
     content TEXT NOT NULL,
     is_open INTEGER NOT NULL,
     row_id INTEGER,
     guid TEXT,
     until_row_id INTEGER
   ) STRICT;
   CREATE UNIQUE INDEX sent_part_by_row ON sent_part (row_id) WHERE row_id IS NOT NULL;
   CREATE INDEX sent_part_without_row ON sent_part (content, after_row_id) WHERE row_id IS NULL;
   CREATE INDEX sent_part_open ON sent_part (number) WHERE is_open <> 0;
   CREATE TABLE sent_since (
     one INTEGER PRIMARY KEY CHECK (one = 1),
     row_id INTEGER NOT NULL
   ) STRICT;`,
  `CREATE TABLE api_key (
     number INTEGER PRIMARY KEY AUTOINCREMENT,
     id TEXT NOT NULL UNIQUE,
     name TEXT NOT NULL,
     hash TEXT NOT NULL,
     previous_hash TEXT,
     previous_until_ms INTEGER,
     scopes TEXT NOT NULL,
     read TEXT NOT NULL,
     send TEXT NOT NULL,
     approval TEXT NOT NULL,
     caps TEXT NOT NULL,
     dry_run INTEGER NOT NULL,
     created_at TEXT NOT NULL,
     expires_at TEXT,
     last_used_at TEXT,
     revoked_at TEXT
   ) STRICT;
   CREATE TABLE approval (
     number INTEGER PRIMARY KEY AUTOINCREMENT,
     id TEXT NOT NULL UNIQUE,
     key_id TEXT NOT NULL,
     state TEXT NOT NULL,
     recipient TEXT NOT NULL,
     members TEXT NOT NULL,
     text TEXT,
     attachments TEXT NOT NULL,
     shown TEXT NOT NULL,
     ask TEXT NOT NULL,
     request_hash TEXT NOT NULL,
     text_hmac TEXT NOT NULL,
     created_ms INTEGER NOT NULL,
     expires_ms INTEGER NOT NULL,
     decided_at TEXT,
     decided_by TEXT,
     message_id TEXT,
     problem TEXT
   ) STRICT;
   CREATE INDEX approval_by_state ON approval (state, key_id, expires_ms);
   CREATE INDEX approval_by_ask ON approval (ask, created_ms);
   CREATE TABLE audit (
     number INTEGER PRIMARY KEY AUTOINCREMENT,
     at_ms INTEGER NOT NULL,
     key_id TEXT NOT NULL,
     action TEXT NOT NULL,
     target TEXT,
     outcome TEXT NOT NULL,
     text_hmac TEXT,
     count INTEGER NOT NULL,
     is_new INTEGER NOT NULL,
     ask TEXT
   ) STRICT;
   CREATE INDEX audit_by_time ON audit (at_ms);
   CREATE INDEX audit_of_asks ON audit (key_id, at_ms, is_new) WHERE action = 'send' AND ask IS NOT NULL;
   CREATE INDEX audit_by_ask ON audit (ask, at_ms) WHERE ask IS NOT NULL;
   CREATE TABLE secret (
     name TEXT PRIMARY KEY,
     value TEXT NOT NULL
   ) STRICT, WITHOUT ROWID;
   ALTER TABLE webhook ADD COLUMN key_id TEXT;`,
  `CREATE TABLE change (
     seq INTEGER PRIMARY KEY AUTOINCREMENT,
     row_id INTEGER NOT NULL,
     names INTEGER NOT NULL,
     is_removed INTEGER NOT NULL,
     at_ms INTEGER NOT NULL,
     guid TEXT,
     conversation_id TEXT,
     first_row_id INTEGER,
     count INTEGER
   ) STRICT;
   CREATE TABLE fingerprint (block INTEGER PRIMARY KEY, prints BLOB NOT NULL) STRICT;
   CREATE TABLE change_detection (
     one INTEGER PRIMARY KEY CHECK (one = 1),
     generation INTEGER NOT NULL,
     is_on INTEGER NOT NULL,
     asked_at_ms INTEGER NOT NULL,
     swept_at_ms INTEGER
   ) STRICT;
   INSERT INTO change_detection VALUES (1, 0, 0, 0, NULL);`,
];

/** What the start relies on besides the schema. */
const CONTENT = [
  {
    sql: `SELECT count(*) FROM webhook WHERE NOT CASE WHEN json_valid(events) AND json_valid(include)
      THEN json_type(events) = 'array' AND json_type(include) = 'array' ELSE 0 END`,
    trouble: 'a webhook in it is damaged',
  },
  {
    sql: "SELECT count(*) FROM webhook LEFT JOIN consumer ON name = 'webhook/' || id WHERE name IS NULL",
    trouble: 'the position of a webhook is missing in it',
  },
  {
    sql: "SELECT count(*) FROM sqlite_master WHERE type IN ('trigger', 'view')",
    trouble: 'it holds a trigger or a view, which Postern never makes',
  },
];

const RESTORE =
  'Stop the service and move the file away, or restore a backup of it: registered webhooks are kept in it.';
const HINTS: readonly { readonly codes: RegExp; readonly hint: string }[] = [
  { codes: /^(SQLITE_(FULL|IOERR)|ENOSPC|EDQUOT|EIO)/, hint: 'Check the disk: it may be full or failing.' },
  { codes: /^(SQLITE_(BUSY|LOCKED))/, hint: 'Another program has it open: close that one and start Postern again.' },
  {
    codes: /^(SQLITE_(READONLY|CANTOPEN|PERM)|EACCES|EPERM|EROFS)/,
    hint: 'Postern must be able to write to it and to its folder: check who owns them.',
  },
];

/**
 * Opens the service's own database (decision A5), mode 0600, and brings its schema up to date. Throws AppError
 * `state_db_unusable` with what is wrong, whatever it is: what is returned can be read and written.
 */
export function openStateDatabase(path: string): Sqlite {
  let database: Sqlite | undefined;
  try {
    claimPrivateFile(path);
    database = openSqlite(path);
    assertUndamaged(database);
    // Nothing is written before it is known to be ours.
    const version = versionOf(database);
    database.exec('PRAGMA journal_mode = WAL');
    // A commit survives a crash of the process; what must survive a power cut asks for FULL itself.
    database.exec('PRAGMA synchronous = NORMAL');
    // A checkpoint waits for the disk: one in 16 MiB instead of one in 4.
    database.exec('PRAGMA wal_autocheckpoint = 4000');
    database.exec('PRAGMA foreign_keys = ON');
    migrate(database, version);
    assertComplete(database);
    return database;
  } catch (error) {
    close(database);
    if (isAppError(error)) throw error;
    throw unusable(path, error);
  }
}

/** One transaction that survives a power failure too. */
export function durably<Result>(database: Sqlite, work: () => Result): Result {
  database.exec('PRAGMA synchronous = FULL');
  try {
    return database.transaction(work);
  } finally {
    database.exec('PRAGMA synchronous = NORMAL');
  }
}

function unusable(path: string, cause: unknown): AppError {
  const code = errorCode(cause) ?? '';
  const hint = HINTS.find(({ codes }) => codes.test(code))?.hint ?? RESTORE;
  const reason = cause instanceof Error ? cause.message : String(cause);
  return new AppError(
    'state_db_unusable',
    `The state database ${path} cannot be used: ${reason.replace(/\s+/g, ' ').replace(/\.$/, '')}.`,
    {
      hint,
      cause,
    },
  );
}

function close(database: Sqlite | undefined): void {
  try {
    database?.close();
  } catch {
    // What is wrong with it is being told.
  }
}

/** A few milliseconds: the database is small. */
function assertUndamaged(database: Sqlite): void {
  const [found] = database.prepare('PRAGMA quick_check(1)').get() ?? [];
  if (found !== 'ok') throw new Error(`it is damaged (${String(found)})`);
}

function versionOf(database: Sqlite): number {
  const version = Number(database.prepare('PRAGMA user_version').get()?.[0] ?? 0);
  if (version < 0) throw new Error(`its version is ${version}`);
  if (version > MIGRATIONS.length) {
    throw new Error(
      `it was written by a newer version of Postern (version ${version} instead of ${MIGRATIONS.length})`,
    );
  }
  if (version === 0 && database.prepare('SELECT name FROM sqlite_master').get() !== undefined) {
    throw new Error('it belongs to another program');
  }
  return version;
}

function migrate(database: Sqlite, version: number): void {
  database.transaction(() => {
    for (const migration of MIGRATIONS.slice(version)) database.exec(migration);
    database.exec(`PRAGMA user_version = ${MIGRATIONS.length}`);
  });
}

/** Every table and column of the schema is there, and what is read at the start can be read. */
function assertComplete(database: Sqlite): void {
  const model = openSqlite(':memory:');
  try {
    for (const migration of MIGRATIONS) model.exec(migration);
    const found = new Set(columnsOf(database));
    const missing = columnsOf(model).find((column) => !found.has(column));
    if (missing !== undefined) throw new Error(`it has no column ${missing}`);
  } finally {
    model.close();
  }
  for (const { sql, trouble } of CONTENT) {
    if (Number(database.prepare(sql).get()?.[0]) > 0) throw new Error(trouble);
  }
  for (const [url, events] of database.prepare('SELECT url, events FROM webhook').all()) {
    if (!URL.canParse(String(url)) || !(JSON.parse(String(events)) as unknown[]).every(isEventType)) {
      throw new Error('a webhook in it is damaged');
    }
  }
}

function isEventType(name: unknown): boolean {
  return ([...ROW_EVENT_TYPES, ...CHANGE_EVENT_TYPES] as readonly unknown[]).includes(name);
}

function columnsOf(database: Sqlite): readonly string[] {
  const sql = `SELECT t.name || '.' || c.name FROM sqlite_master AS t, pragma_table_info(t.name) AS c WHERE t.type = 'table'`;
  return database.prepare(sql).all().map(String);
}
