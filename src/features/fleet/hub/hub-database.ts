import { rmSync } from 'node:fs';
import { claimPrivateFile } from '../../../core/runtime/private-file.ts';
import { openSqlite, type Row, type Sqlite, type Statement } from '../../../core/runtime/sqlite.ts';

const VERSION = 7;
/** The id of a stream, as an SQL expression whose parameter is the stream's creation time. */
export const STREAM_ID = '(SELECT id FROM stream WHERE created = ?)';

/**
 * The tables and columns of hub.db:
 * - `source`: the rows or the changes of a Mac in one epoch. For `queue` see `queueOf`.
 * - `event`: the events and changes, numbered in the order in which this hub could serve them. Numbers are never
 *   reused. `stream` and `sequence` are the event's first place; for the floors see StreamOffset.
 * - `later_place`: the places of events in a refilled stream, and the first places of events whose numbers are not in
 *   the order of their sequences.
 * - `waiting`: the events that wait, each queue in order. If `after_row` is set, the stream lacks the rows after
 *   `after_row`, up to `last_row`. An entry with an empty `type` is no event: it only marks where rows are missing.
 * - `held`: the queues with waiting events. hub.db has every event of such a queue up to the sequence `floor`.
 * - `gap`: numbers without an event. Each stands for rows or changes that are missing from a queue for good. `at_ms` is
 *   the broker's time when the rows were given up, or when the Mac published the start of its chain of changes.
 * - `position`: the place of the newest message read from the stream. `doubtful_after`: see EventStore.doubtfulAfter.
 * - `stream.first_sequence`: this hub has seen every message from this sequence on.
 * - `pair.merged_to`: the number up to which the two Macs' earlier events were merged; NULL once all are merged.
 * - `known`: the guids that a pair has published, with the numbers of their events. `macs` has a bit for each of the
 *   two Macs that has reported the message. `content` is a hash of the message; only messages that came late have it.
 * - `told`: the changes of pairs' messages that clients have received, in order; see PairChanges.
 * - `merged_place`: places of the stream that hold the second copy of a published event. A client that has everything
 *   up to such a place has everything up to `number`.
 */
const SCHEMA = `
  CREATE TABLE stream (id INTEGER PRIMARY KEY, created TEXT NOT NULL UNIQUE, first_sequence INTEGER NOT NULL);
  CREATE TABLE source (
    id INTEGER PRIMARY KEY, queue TEXT NOT NULL, epoch TEXT NOT NULL, mac TEXT NOT NULL, last_row INTEGER NOT NULL,
    UNIQUE (queue, epoch)
  );
  CREATE TABLE event (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    stream INTEGER NOT NULL, sequence INTEGER NOT NULL,
    message_id TEXT NOT NULL, at_ms INTEGER NOT NULL,
    source INTEGER NOT NULL, row INTEGER NOT NULL, type TEXT NOT NULL,
    key_id TEXT, body BLOB NOT NULL, floor INTEGER, change_floor INTEGER
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
  CREATE TRIGGER event_deleted AFTER DELETE ON event BEGIN
    DELETE FROM later_place WHERE number = OLD.number;
    DELETE FROM source WHERE id = OLD.source
      AND NOT EXISTS (SELECT 1 FROM event WHERE source = OLD.source)
      AND NOT EXISTS (SELECT 1 FROM waiting WHERE source = OLD.source)
      AND EXISTS (SELECT 1 FROM source AS newer WHERE newer.queue = source.queue AND newer.id > source.id);
  END;
  CREATE TABLE waiting (
    number INTEGER PRIMARY KEY, queue TEXT NOT NULL,
    stream INTEGER NOT NULL, sequence INTEGER NOT NULL,
    message_id TEXT NOT NULL, at_ms INTEGER NOT NULL,
    source INTEGER NOT NULL, row INTEGER NOT NULL, type TEXT NOT NULL,
    key_id TEXT, body BLOB NOT NULL,
    after_row INTEGER, last_row INTEGER, opened_ms INTEGER NOT NULL
  );
  CREATE UNIQUE INDEX waiting_row ON waiting (source, row);
  CREATE INDEX waiting_place ON waiting (stream, sequence);
  CREATE INDEX waiting_queue ON waiting (queue, number);
  CREATE INDEX waiting_hole ON waiting (queue) WHERE after_row IS NOT NULL;
  CREATE TABLE held (queue TEXT PRIMARY KEY, stream INTEGER NOT NULL, floor INTEGER NOT NULL) WITHOUT ROWID;
  CREATE TABLE gap (number INTEGER PRIMARY KEY, queue TEXT NOT NULL, at_ms INTEGER NOT NULL);
  CREATE TABLE position (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    stream TEXT NOT NULL, sequence INTEGER NOT NULL, message_id TEXT NOT NULL, at_ms INTEGER NOT NULL,
    doubtful_after INTEGER
  );
  CREATE TABLE pair (
    mac TEXT PRIMARY KEY, standby TEXT NOT NULL UNIQUE, since_ms INTEGER NOT NULL, merged_to INTEGER DEFAULT 0
  );
  CREATE TABLE known (
    member TEXT NOT NULL, guid TEXT NOT NULL, number INTEGER NOT NULL, content INTEGER, macs INTEGER NOT NULL,
    PRIMARY KEY (member, guid)
  ) WITHOUT ROWID;
  CREATE INDEX known_content ON known (content);
  CREATE INDEX known_number ON known (number);
  CREATE TABLE told (
    place INTEGER PRIMARY KEY, member TEXT NOT NULL, guid TEXT NOT NULL, part TEXT NOT NULL,
    value TEXT NOT NULL, at TEXT NOT NULL, number INTEGER NOT NULL, teller INTEGER NOT NULL, macs INTEGER NOT NULL
  );
  CREATE INDEX told_part ON told (member, guid, part);
  CREATE INDEX told_number ON told (number);
  CREATE TABLE merged_place (
    stream INTEGER NOT NULL, sequence INTEGER NOT NULL, at_ms INTEGER NOT NULL, message_id TEXT NOT NULL,
    number INTEGER NOT NULL, PRIMARY KEY (stream, sequence, at_ms)
  ) WITHOUT ROWID;
  INSERT INTO sqlite_sequence (name, seq) VALUES ('event', 0);
  CREATE TABLE copy (id TEXT NOT NULL);
  INSERT INTO copy VALUES (lower(hex(randomblob(16))));
`;

/** Runs SQL on hub.db and keeps the prepared statements. */
export class HubDatabase {
  /** Random id of hub.db. A recreated file has a new id, because its event numbers refer to different events. */
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

  /** Returns the first column of the first row as a number; undefined for no row or NULL. */
  number(sql: string, ...parameters: Parameters<Statement['get']>): number | undefined {
    const value = this.get(sql, ...parameters)?.[0];
    return value === null || value === undefined ? undefined : Number(value);
  }

  /** Returns the number of changed rows. */
  run(sql: string, ...parameters: Parameters<Statement['run']>): number {
    return this.#statement(sql).run(...parameters);
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
 * Opens hub.db (0600, decision A5). If the file is damaged or of another version, replaces it by an empty one. Nothing
 * is lost, because hub.db is a copy of the stream and fills again.
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

/** Opens an existing hub.db. Returns undefined if the file is new, damaged or of another version. */
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
  // Events lost in a power failure are read from the stream again.
  database.exec('PRAGMA synchronous = NORMAL');
  database.exec('PRAGMA wal_autocheckpoint = 4000');
}
