import { rmSync } from 'node:fs';
import { claimPrivateFile } from '../../runtime/private-file.ts';
import { openSqlite, type Row, type Sqlite, type Statement } from '../../runtime/sqlite.ts';

const VERSION = 3;

/**
 * `event`: what the stream holds, under numbers that are never used twice, in the order in which this hub could serve
 * it. `stream` and `sequence` are its first place; `later_place` has the places it got when the stream was refilled, and
 * the first place of events whose number came later than their sequence says. `floor`: see StreamOffset. `waiting`:
 * events behind a `hole`, which are rows that the stream lacks; its place is that of what showed it, its `floor` that
 * of the row before it. `gap`: numbers where rows are missing for good. `first_sequence`: where this hub began; it is
 * to see everything from there on.
 */
const SCHEMA = `
  CREATE TABLE stream (id INTEGER PRIMARY KEY, created TEXT NOT NULL UNIQUE, first_sequence INTEGER NOT NULL);
  CREATE TABLE source (
    id INTEGER PRIMARY KEY, mac TEXT NOT NULL, epoch TEXT NOT NULL, last_row INTEGER NOT NULL, UNIQUE (mac, epoch)
  );
  CREATE TABLE event (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    stream INTEGER NOT NULL, sequence INTEGER NOT NULL,
    message_id TEXT NOT NULL, at_ms INTEGER NOT NULL,
    source INTEGER NOT NULL, row INTEGER NOT NULL, type TEXT NOT NULL,
    key_id TEXT, body BLOB NOT NULL, floor INTEGER
  );
  CREATE UNIQUE INDEX event_row ON event (source, row);
  CREATE INDEX event_place ON event (stream, sequence);
  CREATE INDEX event_message ON event (message_id);
  CREATE INDEX event_time ON event (at_ms);
  CREATE TABLE later_place (
    stream INTEGER NOT NULL, sequence INTEGER NOT NULL, at_ms INTEGER NOT NULL, number INTEGER NOT NULL,
    PRIMARY KEY (stream, sequence, at_ms, number)
  ) WITHOUT ROWID;
  CREATE INDEX later_number ON later_place (number);
  CREATE INDEX later_time ON later_place (at_ms);
  CREATE TABLE waiting (
    source INTEGER NOT NULL, row INTEGER NOT NULL,
    stream INTEGER NOT NULL, sequence INTEGER NOT NULL, message_id TEXT NOT NULL, at_ms INTEGER NOT NULL,
    type TEXT NOT NULL, key_id TEXT, body BLOB NOT NULL,
    PRIMARY KEY (source, row)
  );
  CREATE INDEX waiting_place ON waiting (stream, sequence);
  CREATE TABLE hole (
    source INTEGER NOT NULL, before_row INTEGER NOT NULL,
    after_row INTEGER NOT NULL, last_row INTEGER NOT NULL, opened_ms INTEGER NOT NULL,
    stream INTEGER NOT NULL, sequence INTEGER NOT NULL, at_ms INTEGER NOT NULL, floor INTEGER NOT NULL,
    PRIMARY KEY (source, before_row)
  ) WITHOUT ROWID;
  CREATE TABLE gap (number INTEGER PRIMARY KEY);
  CREATE TABLE position (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    stream TEXT NOT NULL, sequence INTEGER NOT NULL, message_id TEXT NOT NULL
  );
  CREATE TABLE copy (id TEXT NOT NULL);
  INSERT INTO copy VALUES (lower(hex(randomblob(16))));
`;

/** hub.db with its prepared statements. */
export class HubDatabase {
  /** Differs in every new file: the numbers of two files mean different events. */
  readonly id: string;
  readonly #database: Sqlite;
  readonly #statements = new Map<string, Statement>();

  constructor(database: Sqlite) {
    this.#database = database;
    this.id = String(this.get('SELECT id FROM copy')?.[0]);
  }

  transaction<Result>(run: () => Result): Result {
    return this.#database.transaction(run);
  }

  all(sql: string, ...parameters: Parameters<Statement['all']>): Row[] {
    return this.#statement(sql).all(...parameters);
  }

  get(sql: string, ...parameters: Parameters<Statement['get']>): Row | undefined {
    return this.#statement(sql).get(...parameters);
  }

  /** The first column of the first row as a number; undefined for no row, or NULL. */
  number(sql: string, ...parameters: Parameters<Statement['get']>): number | undefined {
    const value = this.get(sql, ...parameters)?.[0];
    return value === null || value === undefined ? undefined : Number(value);
  }

  run(sql: string, ...parameters: Parameters<Statement['run']>): void {
    this.#statement(sql).run(...parameters);
  }

  close(): void {
    this.#database.close();
  }

  #statement(sql: string): Statement {
    const known = this.#statements.get(sql) ?? this.#database.prepare(sql);
    this.#statements.set(sql, known);
    return known;
  }
}

/**
 * Opens hub.db (decision A5: 0600). It is a copy of the stream: a file that is damaged, or of another version, is
 * deleted and filled again.
 */
export function openHubDatabase(path: string): HubDatabase {
  try {
    const database = open(path);
    if (database !== undefined) return new HubDatabase(database);
  } catch (error) {
    if (!/^SQLITE_(CORRUPT|NOTADB)/.test(String((error as { code?: unknown }).code))) throw error;
  }
  for (const ending of ['', '-wal', '-shm']) rmSync(path + ending, { force: true });
  claimPrivateFile(path);
  const database = openSqlite(path);
  prepare(database);
  database.exec(`BEGIN; ${SCHEMA} PRAGMA user_version = ${VERSION}; COMMIT`);
  return new HubDatabase(database);
}

/** Returns undefined for a new file, or one of another version. */
function open(path: string): Sqlite | undefined {
  claimPrivateFile(path);
  const database = openSqlite(path);
  try {
    prepare(database);
    const isOurs = Number(database.prepare('PRAGMA user_version').get()?.[0]) === VERSION;
    if (isOurs && database.prepare('PRAGMA quick_check(1)').get()?.[0] === 'ok') return database;
  } catch (error) {
    database.close();
    throw error;
  }
  database.close();
  return undefined;
}

function prepare(database: Sqlite): void {
  database.exec('PRAGMA journal_mode = WAL');
  // Events lost in a power cut are read from the stream again.
  database.exec('PRAGMA synchronous = NORMAL');
  database.exec('PRAGMA wal_autocheckpoint = 4000');
}
