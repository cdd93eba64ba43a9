import { type HubDatabase, STREAM_ID } from './hub-database.ts';
import type { Hole, MacEvent, StoredEvent } from './stored-event.ts';

/** Open holes of a Mac are counted up to this number. */
const MAX_COUNT = 1000;

/** Rows that the stream lacks: those after `after`, up to `last`. */
export type Missing = Pick<Hole, 'after' | 'last'>;

/**
 * The events that wait behind rows that the stream lacks, in one queue per Mac. No method slows down as a queue grows.
 * Callers hold a transaction.
 */
export class WaitingTable {
  readonly #database: HubDatabase;

  constructor(database: HubDatabase) {
    this.#database = database;
  }

  macs(): readonly string[] {
    return this.#database.all('SELECT mac FROM held ORDER BY mac').map(([mac]) => String(mac));
  }

  has(mac: string): boolean {
    return this.#database.get('SELECT 1 FROM held WHERE mac = ?', mac) !== undefined;
  }

  /** Returns the sequence up to which no Mac's events wait; undefined if none wait. */
  floor(stream: string): number | undefined {
    return this.#database.number(`SELECT min(CASE WHEN stream = ${STREAM_ID} THEN floor ELSE 0 END) FROM held`, stream);
  }

  /** Returns the rows that a Mac's queue waits for; undefined if it waits for none. */
  hole(mac: string): Hole | undefined {
    const row = this.#database.get(
      `SELECT epoch, after_row, waiting.last_row, row, opened_ms, created, sequence, at_ms, number
       FROM waiting JOIN source ON source.id = source JOIN stream ON stream.id = stream
       WHERE waiting.mac = ? ORDER BY number LIMIT 1`,
      mac,
    );
    if (row === undefined || row[1] === null) return undefined;
    const [epoch, after, last, before, openedMs, stream, sequence, atMs, number] = row;
    return {
      ...{ mac, epoch: String(epoch), after: Number(after), last: Number(last), before: Number(before) },
      ...{ openedMs: Number(openedMs), number: Number(number) },
      place: { stream: String(stream), sequence: Number(sequence), atMs: Number(atMs) },
    };
  }

  /** Returns the number of a Mac's holes, at most 1,000. */
  holes(mac: string): number {
    const some = `SELECT 1 FROM waiting WHERE mac = ? AND after_row IS NOT NULL LIMIT ${MAX_COUNT}`;
    return this.#database.number(`SELECT count(*) FROM (${some})`, mac) ?? 0;
  }

  /** Adds an event to its Mac's queue. */
  add(stream: string, source: number, event: MacEvent, missing: Missing | undefined, nowMs: number): void {
    const { mac, row, sequence, messageId, atMs, type, keyId, body } = event;
    // Everything before the event is here, or else everything up to the last row before the missing ones.
    const known = `SELECT max(sequence) FROM event WHERE source = ? AND row = ? AND event.stream = stream.id`;
    this.#database.run(
      `INSERT OR IGNORE INTO held (mac, stream, floor)
       SELECT ?, id, ${missing === undefined ? '? - 1' : `ifnull((${known}), 0)`} FROM stream WHERE created = ?`,
      ...[mac, ...(missing === undefined ? [sequence] : [source, missing.after]), stream],
    );
    this.#database.run(
      `INSERT INTO waiting (mac, stream, source, row, sequence, message_id, at_ms, type, key_id, body,
         after_row, last_row, opened_ms)
       VALUES (?, ${STREAM_ID}, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
      ...[mac, stream, source, row, sequence, messageId, atMs, type, keyId, body],
      ...[missing?.after ?? null, missing?.last ?? null, nowMs],
    );
  }

  /** Sets the place of a waiting event in a refilled stream. */
  move(stream: string, source: number, { row, sequence, atMs }: MacEvent): void {
    const sql = `UPDATE waiting SET stream = ${STREAM_ID}, sequence = ?, at_ms = ? WHERE source = ? AND row = ?`;
    this.#database.run(sql, stream, sequence, atMs, source, row);
  }

  /** Moves the start of a hole, once the rows up to `upTo` are here or given up, and ends it after its last row. */
  shrink({ number, last }: Hole, upTo: number): void {
    this.#database.run('UPDATE waiting SET after_row = ? WHERE number = ?', upTo < last ? upTo : null, number);
  }

  /** Deletes a Mac's waiting events up to this one, which are about to be inserted. */
  deleteUpTo({ mac, number, stream, sequence }: StoredEvent): void {
    this.#database.run('DELETE FROM waiting WHERE mac = ? AND number <= ?', mac, number);
    const isMore = this.#database.get('SELECT 1 FROM waiting WHERE mac = ? LIMIT 1', mac) !== undefined;
    const move = `UPDATE held SET stream = ${STREAM_ID}, floor = ? WHERE mac = ?`;
    if (isMore) this.#database.run(move, stream, sequence, mac);
    else this.#database.run('DELETE FROM held WHERE mac = ?', mac);
  }

  /** Uses up a number without an event, which durable readers record as gone. */
  addGap(): void {
    this.#database.run("UPDATE sqlite_sequence SET seq = seq + 1 WHERE name = 'event'");
    this.#database.run("INSERT INTO gap SELECT seq FROM sqlite_sequence WHERE name = 'event'");
  }
}
