import { lstatSync } from 'node:fs';
import { AppError, errorCode, isAppError } from '../model/errors.ts';
import { CHANGE_EVENT_TYPES, ROW_EVENT_TYPES } from '../model/event.ts';
import { claimPrivateFile } from '../runtime/private-file.ts';
import { openSqlite, type Sqlite } from '../runtime/sqlite.ts';
import { TABLES } from './tables.ts';

/**
 * Rises whenever a table of the core or of a feature changes. From the first release on, that needs a step from the
 * version before, which keeps the data.
 */
const VERSION = 1;

/**
 * Checks of the data that startup reads. Each `sql` counts the rows that are wrong. Tables and columns are checked
 * separately.
 */
const CONTENT = [
  {
    sql: `SELECT count(*) FROM webhook WHERE NOT CASE
      WHEN json_valid(events) AND json_valid(include) AND json_valid(headers)
        AND (filter IS NULL OR json_valid(filter)) AND (held IS NULL OR json_valid(held))
      THEN json_type(events) = 'array' AND json_type(include) = 'array' AND json_type(headers) = 'object'
        AND ifnull(json_type(filter), 'object') = 'object' AND ifnull(json_type(held), 'object') = 'object'
      ELSE 0 END`,
    trouble: 'a webhook in it is damaged',
  },
  {
    sql: "SELECT count(*) FROM webhook LEFT JOIN consumer ON consumer.name = 'webhook/' || id WHERE consumer.name IS NULL",
    trouble: 'the position of a webhook is missing in it',
  },
  {
    sql: "SELECT count(*) FROM sqlite_master WHERE type IN ('trigger', 'view')",
    trouble: 'it holds a trigger or a view, which Postern never makes',
  },
];

const RESTORE =
  'Stop the service. Then restore a backup. Or move the file away: Postern then starts without its webhooks, limited keys and audit log.';
const HINTS: readonly { readonly codes: RegExp; readonly hint: string }[] = [
  { codes: /^(SQLITE_(FULL|IOERR)|ENOSPC|EDQUOT|EIO)/, hint: 'Check the disk: it may be full or failing.' },
  { codes: /^(SQLITE_(BUSY|LOCKED))/, hint: 'Another program has it open: close that one and start Postern again.' },
  {
    codes: /^(SQLITE_(READONLY|CANTOPEN|PERM)|EACCES|EPERM|EROFS)/,
    hint: 'Postern must be able to write to it and to its folder: check who owns them.',
  },
];

/**
 * Opens the service's own database (decision A5) with mode 0600 and creates missing tables. Throws `state_db_unusable`
 * with the reason, unless the database can be read and written.
 */
export function openStateDatabase(path: string, features: readonly WithTables[] = []): Sqlite {
  let database: Sqlite | undefined;
  try {
    claimPrivateFile(path);
    const opened = openSqlite(path);
    database = opened;
    assertUndamaged(database);
    // `versionOf` throws if the file is not Postern's, so the call comes before anything is written.
    const version = versionOf(database);
    database.exec('PRAGMA journal_mode = WAL');
    // With NORMAL, a commit survives a crash of the process. A transaction of `durably` survives a power failure too.
    database.exec('PRAGMA synchronous = NORMAL');
    // On macOS, fsync alone leaves the data in the cache of the disk.
    database.exec('PRAGMA fullfsync = ON');
    // A checkpoint waits for the disk. 4000 pages mean one checkpoint per 16 MiB written, instead of one per 4 MiB.
    database.exec('PRAGMA wal_autocheckpoint = 4000');
    database.exec('PRAGMA foreign_keys = ON');
    // One transaction: a start creates all tables or none.
    database.transaction(() => {
      if (version !== VERSION) opened.exec(`${TABLES} PRAGMA user_version = ${VERSION}`);
      createTables(opened, features);
    });
    assertComplete(database, features);
    return database;
  } catch (error) {
    close(database);
    if (isAppError(error)) throw error;
    throw unusable(path, error);
  }
}

/**
 * Throws `state_db_unusable` if a start would refuse the file at `path`. Writes nothing to it, and creates no missing
 * file.
 */
export function checkStateDatabase(path: string, features: readonly WithTables[] = []): void {
  let database: Sqlite | undefined;
  try {
    const found = lstatSync(path, { throwIfNoEntry: false });
    if (found === undefined) return;
    if (!found.isFile()) throw new Error('it is not a file');
    database = openSqlite(path, { readonly: true });
    assertUndamaged(database);
    if (versionOf(database) === VERSION) assertComplete(database, features);
  } catch (error) {
    if (isAppError(error)) throw error;
    throw unusable(path, error);
  } finally {
    close(database);
  }
}

/** Runs one transaction that also survives a power failure. */
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
    // Ignored, because the reason why the database is unusable is already being reported.
  }
}

/** Throws if SQLite finds the file damaged. Takes a few milliseconds, because the database is small. */
function assertUndamaged(database: Sqlite): void {
  const [found] = database.prepare('PRAGMA quick_check(1)').get() ?? [];
  if (found !== 'ok') throw new Error(`it is damaged (${String(found)})`);
}

function versionOf(database: Sqlite): number {
  const version = Number(database.prepare('PRAGMA user_version').get()?.[0] ?? 0);
  if (version < 0) throw new Error(`its version is ${version}`);
  if (version > VERSION) {
    throw new Error(`it was written by a newer version of Postern (version ${version} instead of ${VERSION})`);
  }
  if (version === 0 && database.prepare('SELECT name FROM sqlite_master').get() !== undefined) {
    throw new Error('it belongs to another program');
  }
  return version;
}

/** A feature, which may have tables. */
export interface WithTables {
  readonly name: string;
  readonly tables?: string;
}

/** Creates the tables of features that have none yet. Keeps those of features that this program does not have. */
function createTables(database: Sqlite, features: readonly WithTables[]): void {
  for (const { name, tables } of features) {
    if (tables === undefined) continue;
    const added = database.prepare('INSERT OR IGNORE INTO feature (name) VALUES (?)').run(name);
    if (added > 0) database.exec(tables);
  }
}

/**
 * Throws unless the schema equals that of a new database word for word. A foreign schema could contain views, triggers
 * or default values with arbitrary SQL.
 */
export function assertOwnSchema(database: Sqlite, features: readonly WithTables[] = []): void {
  const own = withModel(schemaOf, features);
  const foreign = [...schemaOf(database)].find(([name, sql]) => own.get(name) !== sql);
  if (foreign !== undefined) throw new Error(`its schema defines ${foreign[0]} differently than Postern does`);
}

/**
 * Returns the statements that made the schema. Key: type and name, such as `table webhook`. Value: the SQL statement.
 */
function schemaOf(database: Sqlite): ReadonlyMap<string, string> {
  const sql = "SELECT type || ' ' || name, sql FROM sqlite_master WHERE name NOT LIKE 'sqlite\\_%' ESCAPE '\\'";
  return new Map(
    database
      .prepare(sql)
      .all()
      .map(([name, made]) => [String(name), String(made)]),
  );
}

/** Runs `read` on a new database in memory that has the current schema. */
function withModel<Result>(read: (model: Sqlite) => Result, features: readonly WithTables[]): Result {
  const model = openSqlite(':memory:');
  try {
    model.exec(TABLES);
    createTables(model, features);
    return read(model);
  } finally {
    model.close();
  }
}

/** Checks that every table and column exists and that the data needed at startup is readable. */
function assertComplete(database: Sqlite, features: readonly WithTables[]): void {
  const found = new Set(columnsOf(database));
  const missing = withModel(columnsOf, features).find((column) => !found.has(column));
  if (missing !== undefined) throw new Error(`it has no column ${missing}`);
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
