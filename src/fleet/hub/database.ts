import { rmSync } from 'node:fs';
import { claimPrivateFile } from '../../runtime/private-file.ts';
import { openSqlite, type Sqlite } from '../../runtime/sqlite.ts';

const VERSION = 1;

export interface HubDatabase {
  readonly database: Sqlite;
  /** Another one in every new file: the numbers of two files mean different events. */
  readonly id: string;
}

/**
 * `event`: what the stream holds, in the order in which this hub first saw it, under numbers that are never given
 * twice. `stream` and `sequence` say where it is now; `earlier_place`, where it was before the stream was created again.
 */
const SCHEMA = `
  CREATE TABLE stream (id INTEGER PRIMARY KEY, created TEXT NOT NULL UNIQUE);
  CREATE TABLE source (
    id INTEGER PRIMARY KEY, mac TEXT NOT NULL, epoch TEXT NOT NULL, last_row INTEGER NOT NULL, UNIQUE (mac, epoch)
  );
  CREATE TABLE event (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    stream INTEGER NOT NULL, sequence INTEGER NOT NULL,
    message_id TEXT NOT NULL, at_ms INTEGER NOT NULL,
    source INTEGER NOT NULL, row INTEGER NOT NULL, type TEXT NOT NULL,
    key_id TEXT, body BLOB NOT NULL
  );
  CREATE UNIQUE INDEX event_row ON event (source, row);
  CREATE INDEX event_place ON event (stream, sequence);
  CREATE INDEX event_message ON event (message_id);
  CREATE INDEX event_time ON event (at_ms);
  CREATE TABLE earlier_place (
    stream INTEGER NOT NULL, sequence INTEGER NOT NULL, number INTEGER NOT NULL,
    PRIMARY KEY (stream, sequence, number)
  ) WITHOUT ROWID;
  CREATE INDEX earlier_number ON earlier_place (number);
  CREATE TABLE position (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    stream TEXT NOT NULL, sequence INTEGER NOT NULL, message_id TEXT NOT NULL
  );
  CREATE TABLE copy (id TEXT NOT NULL);
  INSERT INTO copy VALUES (lower(hex(randomblob(16))));
`;

/**
 * Opens hub.db (decision A5: 0600). It is a copy of the stream: one that is damaged, or of another version, is deleted
 * and filled again.
 */
export function openHubDatabase(path: string): HubDatabase {
  try {
    const database = open(path);
    if (database !== undefined) return { database, id: idOf(database) };
  } catch (error) {
    if (!/^SQLITE_(CORRUPT|NOTADB)/.test(String((error as { code?: unknown }).code))) throw error;
  }
  for (const ending of ['', '-wal', '-shm']) rmSync(path + ending, { force: true });
  claimPrivateFile(path);
  const database = openSqlite(path);
  prepare(database);
  database.exec(`BEGIN; ${SCHEMA} PRAGMA user_version = ${VERSION}; COMMIT`);
  return { database, id: idOf(database) };
}

function idOf(database: Sqlite): string {
  return String(database.prepare('SELECT id FROM copy').get()?.[0]);
}

/** undefined for a file of another version, or a new one. */
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
  // What a power cut takes is read from the stream again.
  database.exec('PRAGMA synchronous = NORMAL');
  database.exec('PRAGMA wal_autocheckpoint = 4000');
}
