import type { Row, Sqlite, Statement } from '../../core/runtime/sqlite.ts';
import { openIndexFile } from './archive-index-file.ts';
import { type ArchivedFile, pathsOf } from './archived-line.ts';
import type { Head } from './chain.ts';

/** A message or reaction in the archive, with the position of the latest line about it. */
export interface Entry {
  /** The entry's id in the index; undefined before it is stored. */
  readonly id?: number | undefined;
  readonly guid: string;
  /** The `ChainRecord.id` of the file that contains the row's lines. */
  readonly file: number;
  readonly n: number;
  /** Line number of the row's first line. It orders messages of the same second. */
  readonly first: number;
  /** Byte offset in the file at which the row's latest line begins. */
  readonly start: number;
  /** The date of a message in seconds since 1970; null for a reaction, which no page shows by itself. */
  readonly at: number | null;
  /** The row's fingerprint when it was last compared, or else `NOT_COMPARED` or `REMOVED`. */
  readonly print: number;
  /** Number of the run that wrote the row's latest line; 0 if the index read the line from the file. */
  readonly run: number;
  /** `ArchiveIndex.database` of the chat.db in which the row was last seen; 0 until a run compares the row. */
  readonly database: number;
  /** Number of the message's attachments that are not in the archive. */
  readonly missing: number;
  /** Byte offsets in the file at which the row's earlier lines begin, oldest first, separated by commas. */
  readonly earlier: string;
  /** Number of the file's first line about the same message under an earlier guid; null if there is none. */
  readonly twinOf: number | null;
}

export const NOT_COMPARED = 0;
export const REMOVED = -1;

/** One NDJSON file: a conversation's lines of one year. `head` is the end of the lines that the index covers. */
export interface ChainRecord {
  readonly id: number;
  readonly path: string;
  readonly key: string;
  readonly head: Head;
  /** The mark from `markOf` at the time the year's HTML pages were made; "" if there are no pages. */
  readonly page: string;
}

/** Attachment `n` of the message `guid`, and the path of its stored file. */
export interface StoredPath {
  readonly path: string;
  readonly guid: string;
  readonly n: number;
}

const FILES_AT_ONCE = 500;
const ENTRIES_AT_ONCE = 50;

/** SQLite indexes, created at the first lookup: keeping them up to date in a first run takes three times as long. */
const INDEXES = `
  CREATE INDEX IF NOT EXISTS entry_by_guid ON entry (guid);
  CREATE INDEX IF NOT EXISTS entry_by_date ON entry (file, at, first);
  CREATE INDEX IF NOT EXISTS twin ON entry (file, twin_of) WHERE twin_of IS NOT NULL`;

const ENTRY =
  'e.id, e.guid, e.file, e.n, e.first, e.start, e.at, e.print, e.run, e.database, e.missing, e.earlier, e.twin_of';

/**
 * SQL condition for messages that pages show. If a message was archived again under a new guid, its older entry is
 * excluded once the older row has left chat.db or was last seen in another chat.db.
 */
const IS_SHOWN = `e.at IS NOT NULL AND NOT EXISTS (SELECT 1 FROM entry t
  WHERE t.file = e.file AND t.twin_of = e.first AND (e.print = ${REMOVED} OR e.database <> t.database))`;

/**
 * Finds the lines about each row in the NDJSON files, which are the source of truth. The index is updated from these
 * files when the archive is opened, and rebuilt if it is missing or damaged.
 */
export class ArchiveIndex {
  readonly #sqlite: Sqlite;
  readonly #statements = new Map<string, Statement>();
  #isOpen = false;
  #isIndexed = false;

  constructor(path: string) {
    this.#sqlite = openIndexFile(path);
  }

  /** Returns this index's number for the chat.db with this id. Assigns a number if the id is new. */
  database(id: string): number {
    this.#run('INSERT OR IGNORE INTO database (id) VALUES (?)', id);
    return Number(this.#get('SELECT number FROM database WHERE id = ?', id)?.[0]);
  }

  /** Yields all files in order of path, so that the files of one conversation are adjacent. Reads few at a time. */
  *files(): Generator<ChainRecord> {
    const select = 'SELECT id, path, key, lines, bytes, hash, page FROM file WHERE path > ? ORDER BY path LIMIT ?';
    for (let after = ''; ; ) {
      const records = this.#all(select, after, FILES_AT_ONCE).map(toRecord);
      yield* records;
      const last = records.at(-1);
      if (last === undefined) return;
      after = last.path;
    }
  }

  countFiles(): number {
    return Number(this.#get('SELECT count(*) FROM file')?.[0]);
  }

  file(path: string, key: string): ChainRecord {
    const select = 'SELECT id, path, key, lines, bytes, hash, page FROM file WHERE path = ?';
    const known = this.#get(select, path);
    if (known !== undefined) return toRecord(known);
    const begun = 'INSERT INTO file (path, key, lines, bytes, hash) VALUES (?, ?, 0, 0, ?)';
    this.#run(begun, path, key, '0'.repeat(64));
    return toRecord(this.#get(select, path) ?? []);
  }

  setHead(id: number, { lines, bytes, hash }: Head): void {
    this.#run('UPDATE file SET lines = ?, bytes = ?, hash = ? WHERE id = ?', lines, bytes, hash, id);
  }

  setPage(id: number, hash: string): void {
    this.#run('UPDATE file SET page = ? WHERE id = ?', hash, id);
  }

  /** Forgets a file and its lines, so that they are read again. */
  forget(id: number): void {
    this.#run('DELETE FROM entry WHERE file = ?', id);
    this.#run('DELETE FROM file WHERE id = ?', id);
  }

  /** True until the first row is stored. */
  get isEmpty(): boolean {
    return this.#get('SELECT 1 FROM entry LIMIT 1') === undefined;
  }

  entries(guids: readonly string[]): ReadonlyMap<string, Entry> {
    const sql = `SELECT ${ENTRY} FROM json_each(?) g CROSS JOIN entry e ON e.guid = g.value`;
    return new Map(this.#find(sql, JSON.stringify(guids)).map((row) => [row[1] as string, toEntry(row)]));
  }

  /** Adds the entry. If it has an `id`, replaces the entry with that id. */
  put(entry: Entry): void {
    const { id = null, guid, file, n, first, start, at, print, run, database, missing, earlier, twinOf } = entry;
    const sql = 'INSERT OR REPLACE INTO entry VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)';
    this.#run(sql, id, guid, file, n, first, start, at, print, run, database, missing, earlier, twinOf);
  }

  /** Records the stored files that a line of this row names. */
  putStored(guid: string, files: readonly ArchivedFile[] = []): void {
    const sql = 'INSERT OR IGNORE INTO stored VALUES (?, ?, ?)';
    for (const file of files) for (const path of pathsOf(file)) this.#run(sql, path, guid, file.n);
  }

  /** Returns the attachments whose stored files are in this folder, in order of path. */
  storedIn(folder: string): readonly StoredPath[] {
    const sql = 'SELECT path, guid, n FROM stored WHERE path > ? AND path < ? ORDER BY path, guid, n';
    const rows = this.#all(sql, `${folder}/`, `${folder}0`);
    return rows.map(([path, guid, n]) => ({ path: String(path), guid: String(guid), n: Number(n) }));
  }

  /** Returns the number of rows that were last seen in this database and are not known to be removed. */
  countLive(database: number): number {
    return Number(this.#get('SELECT count(*) FROM entry WHERE database = ? AND print <> ?', database, REMOVED)?.[0]);
  }

  /** Returns the number of rows that were last seen in another database and are not known to be removed. */
  countElsewhere(database: number): number {
    return Number(this.#get('SELECT count(*) FROM entry WHERE database <> ? AND print <> ?', database, REMOVED)?.[0]);
  }

  /** Returns the live rows (see `countLive`) after `guid`, in order of guid. Skips rows that this run has written. */
  liveAfter(guid: string, database: number, run: number, limit: number): readonly Entry[] {
    const sql = `SELECT ${ENTRY} FROM entry e WHERE e.guid > ? AND e.database = ? AND e.print <> ? AND e.run < ?
      ORDER BY e.guid LIMIT ?`;
    return this.#find(sql, guid, database, REMOVED, run, limit).map(toEntry);
  }

  /** Returns the messages in the file `path` whose date, in seconds, is `at`. Skips those that this run has written. */
  datedAt(path: string, at: number, run: number, limit: number): readonly Entry[] {
    const sql = `SELECT ${ENTRY} FROM entry e
      WHERE e.file = (SELECT id FROM file WHERE path = ?) AND e.at = ? AND e.run < ? ORDER BY e.first LIMIT ?`;
    return this.#find(sql, path, at, run, limit).map(toEntry);
  }

  /** Returns each month of a file, in order, with the number of its messages that pages show. */
  months(file: number): readonly (readonly [month: string, count: number])[] {
    const sql = `SELECT strftime('%m', e.at, 'unixepoch'), count(*) FROM entry e WHERE e.file = ? AND ${IS_SHOWN}
      GROUP BY strftime('%Y-%m', e.at, 'unixepoch') ORDER BY min(e.at)`;
    return this.#find(sql, file).map(([month, count]) => [String(month), Number(count)]);
  }

  /** Yields those messages of a file that appear on pages, by date. Reads few at a time, to use little memory. */
  *byDate(file: number): Generator<Entry, undefined> {
    const sql = `SELECT ${ENTRY} FROM entry e WHERE e.file = ? AND (e.at, e.first) > (?, ?) AND ${IS_SHOWN}
      ORDER BY e.at, e.first LIMIT ?`;
    for (let at = Number.MIN_SAFE_INTEGER, first = 0; ; ) {
      const entries = this.#find(sql, file, at, first, ENTRIES_AT_ONCE).map(toEntry);
      yield* entries;
      const last = entries.at(-1);
      if (last === undefined) return undefined;
      at = last.at ?? 0;
      first = last.first;
    }
  }

  /**
   * Returns the number of messages in a file that pages show, and the date of the newest until `until`; all dates are
   * in seconds since 1970. A later date is that of a message that Messages is still to send: it counts only if the file
   * has no other.
   */
  summary(file: number, until: number): { readonly messages: number; readonly lastAt: number } {
    const newest = 'coalesce(max(CASE WHEN e.at <= ? THEN e.at END), max(e.at))';
    const [row] = this.#find(`SELECT count(*), ${newest} FROM entry e WHERE e.file = ? AND ${IS_SHOWN}`, until, file);
    return { messages: Number(row?.[0] ?? 0), lastAt: Number(row?.[1] ?? 0) };
  }

  /** Returns the JSON that describes a conversation. */
  description(key: string): string | undefined {
    return this.#get('SELECT description FROM conversation WHERE key = ?', key)?.[0] as string | undefined;
  }

  describe(key: string, description: string): void {
    this.#run('INSERT OR REPLACE INTO conversation VALUES (?, ?)', key, description);
  }

  commit(): void {
    if (this.#isOpen) this.#sqlite.exec('COMMIT');
    this.#isOpen = false;
  }

  close(): void {
    this.#sqlite.close();
  }

  #begin(): void {
    if (this.#isOpen) return;
    this.#sqlite.exec('BEGIN IMMEDIATE');
    this.#isOpen = true;
  }

  #run(sql: string, ...values: readonly (string | number | null)[]): void {
    this.#begin();
    this.#statement(sql).run(...values);
  }

  #get(sql: string, ...values: readonly (string | number)[]): Row | undefined {
    return this.#statement(sql).get(...values);
  }

  #all(sql: string, ...values: readonly (string | number)[]): Row[] {
    return this.#statement(sql).all(...values);
  }

  /** Runs a query that needs the SQLite indexes. Creates them first if they are missing. */
  #find(sql: string, ...values: readonly (string | number)[]): Row[] {
    if (!this.#isIndexed) {
      this.#begin();
      this.#sqlite.exec(INDEXES);
      this.#isIndexed = true;
    }
    return this.#all(sql, ...values);
  }

  #statement(sql: string): Statement {
    const known = this.#statements.get(sql);
    if (known !== undefined) return known;
    const statement = this.#sqlite.prepare(sql);
    this.#statements.set(sql, statement);
    return statement;
  }
}

function toRecord(row: Row): ChainRecord {
  const [id, path, key, lines, bytes, hash, page] = row;
  return {
    id: Number(id),
    path: String(path),
    key: String(key),
    head: { lines: Number(lines), bytes: Number(bytes), hash: String(hash) },
    page: String(page),
  };
}

function toEntry(row: Row): Entry {
  const [id, guid, file, n, first, start, at, print, run, database, missing, earlier, twinOf] = row;
  return {
    id: id as number,
    guid: guid as string,
    file: file as number,
    n: n as number,
    first: first as number,
    start: start as number,
    at: at as number | null,
    print: print as number,
    run: run as number,
    database: database as number,
    missing: missing as number,
    earlier: earlier as string,
    twinOf: twinOf as number | null,
  };
}
