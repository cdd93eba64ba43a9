import { isChangesEpoch } from '../protocol/event-message.ts';
import { type HubDatabase, STREAM_ID } from './hub-database.ts';
import type { Hole, MacEvent, StoredEvent } from './stored-event.ts';

/** Open holes of a queue are counted up to this number. */
const MAX_COUNT = 1000;

/** Rows that the stream lacks: those after `after`, up to `last`. */
export type Missing = Pick<Hole, 'after' | 'last'>;

/** The members of an entry of `waiting` that is no event, but only marks where rows are missing. */
export const NOTHING = { messageId: '', type: '', keyId: null, body: new Uint8Array() };

/**
 * Suffix of the name of a Mac's queue of changes. No queue of rows has a name with this suffix, because Mac ids contain
 * no spaces.
 */
const OF_CHANGES = ' changes';
/**
 * Maximum number of gaps of a queue in an hour. A gap in rows ends every client's connection. A gap in changes ends the
 * connections of the clients that receive changes. Gaps within five seconds of the hour's first gap are not limited.
 */
const MAX_LOSSES = { rows: 1, changes: 4 };
const LOSS_MS = { first: 5000, all: 3_600_000 };

/**
 * Returns the name of the queue for a Mac's rows or changes. The queue of rows has the Mac's id as its name. Changes
 * also wait for rows, because clients would otherwise receive a row after its change. Rows never wait for changes.
 */
export function queueOf(mac: string, epoch: string): string {
  return isChangesEpoch(epoch) ? changesOf(mac) : mac;
}

export function changesOf(mac: string): string {
  return mac + OF_CHANGES;
}

export function macOf(queue: string): string {
  return isOfChanges(queue) ? queue.slice(0, -OF_CHANGES.length) : queue;
}

export function isOfChanges(queue: string): boolean {
  return queue.endsWith(OF_CHANGES);
}

/** SQL condition: the queue holds rows, not changes. */
export const IS_OF_ROWS = `queue NOT LIKE '%${OF_CHANGES}'`;

/**
 * Stores the events that wait behind missing rows, in queues. No method slows down as a queue grows. Callers hold a
 * transaction.
 */
export class WaitingTable {
  readonly #database: HubDatabase;

  constructor(database: HubDatabase) {
    this.#database = database;
  }

  queues(): readonly string[] {
    return this.#database.all('SELECT queue FROM held ORDER BY queue').map(([queue]) => String(queue));
  }

  has(queue: string): boolean {
    return this.#database.get('SELECT 1 FROM held WHERE queue = ?', queue) !== undefined;
  }

  /**
   * Returns two sequences of the stream. No row waits at or below the first; neither rows nor changes wait at or below
   * the second. The first is undefined if no row waits, the second if nothing waits.
   */
  floors(stream: string): readonly (number | undefined)[] {
    const sql = `SELECT min(CASE WHEN stream = ${STREAM_ID} THEN floor ELSE 0 END) FROM held`;
    return [`${sql} WHERE ${IS_OF_ROWS}`, sql].map((one) => this.#database.number(one, stream));
  }

  /** Returns the hole before the first event of a queue; undefined if there is none. */
  hole(queue: string): Hole | undefined {
    const row = this.#database.get(
      `SELECT mac, epoch, after_row, waiting.last_row, row, opened_ms, created, sequence, at_ms, number
       FROM waiting JOIN source ON source.id = source JOIN stream ON stream.id = stream
       WHERE waiting.queue = ? ORDER BY number LIMIT 1`,
      queue,
    );
    if (row === undefined || row[2] === null) return undefined;
    const [mac, epoch, after, last, before, openedMs, stream, sequence, atMs, number] = row;
    return {
      mac: String(mac),
      epoch: String(epoch),
      queue,
      after: Number(after),
      last: Number(last),
      before: Number(before),
      openedMs: Number(openedMs),
      number: Number(number),
      place: { stream: String(stream), sequence: Number(sequence), atMs: Number(atMs) },
    };
  }

  /** Counts a queue's holes, up to 1,000. */
  holes(queue: string): number {
    const some = `SELECT 1 FROM waiting WHERE queue = ? AND after_row IS NOT NULL LIMIT ${MAX_COUNT}`;
    return this.#database.number(`SELECT count(*) FROM (${some})`, queue) ?? 0;
  }

  add(stream: string, source: number, event: MacEvent, missing: Missing | undefined, nowMs: number): void {
    const { mac, epoch, row, sequence, messageId, atMs, type, keyId, body } = event;
    const queue = queueOf(mac, epoch);
    // If no rows are missing, hub.db has everything before the event's sequence. Otherwise it has everything up to the
    // last row before the missing ones.
    const known = `SELECT max(sequence) FROM event WHERE source = ? AND row = ? AND event.stream = stream.id`;
    this.#database.run(
      `INSERT OR IGNORE INTO held (queue, stream, floor)
       SELECT ?, id, ${missing === undefined ? '? - 1' : `ifnull((${known}), 0)`} FROM stream WHERE created = ?`,
      ...[queue, ...(missing === undefined ? [sequence] : [source, missing.after]), stream],
    );
    this.#database.run(
      `INSERT INTO waiting (queue, stream, source, row, sequence, message_id, at_ms, type, key_id, body,
         after_row, last_row, opened_ms)
       VALUES (?, ${STREAM_ID}, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
      ...[queue, stream, source, row, sequence, messageId, atMs, type, keyId, body],
      ...[missing?.after ?? null, missing?.last ?? null, nowMs],
    );
  }

  /** Replaces the place of a waiting event with its place in a refilled stream. */
  move(stream: string, source: number, { row, sequence, atMs }: MacEvent): void {
    const sql = `UPDATE waiting SET stream = ${STREAM_ID}, sequence = ?, at_ms = ? WHERE source = ? AND row = ?`;
    this.#database.run(sql, stream, sequence, atMs, source, row);
  }

  /**
   * Moves the start of a hole to `upTo`, once the rows up to it are stored or given up. Closes the hole if `upTo` is
   * its last row.
   */
  shrink({ number, last }: Hole, upTo: number): void {
    this.#database.run('UPDATE waiting SET after_row = ? WHERE number = ?', upTo < last ? upTo : null, number);
  }

  /** Deletes the rows of a queue up to and including this event. Callers then insert the events into `event`. */
  deleteUpTo({ mac, epoch, number, stream, sequence }: StoredEvent): void {
    const queue = queueOf(mac, epoch);
    this.#database.run('DELETE FROM waiting WHERE queue = ? AND number <= ?', queue, number);
    const isMore = this.#database.get('SELECT 1 FROM waiting WHERE queue = ? LIMIT 1', queue) !== undefined;
    const move = `UPDATE held SET stream = ${STREAM_ID}, floor = ? WHERE queue = ?`;
    if (isMore) this.#database.run(move, stream, sequence, queue);
    else this.#database.run('DELETE FROM held WHERE queue = ?', queue);
  }

  /**
   * Records a gap: the next number gets no event, so that durable readers record that number as gone. Returns false if
   * the queue has had too many gaps in the last hour.
   */
  addGap(queue: string, nowMs: number): boolean {
    const sql = 'SELECT count(*), min(at_ms) FROM gap WHERE queue = ? AND at_ms > ?';
    const [count, firstMs] = this.#database.get(sql, queue, nowMs - LOSS_MS.all) ?? [];
    const isMuch = Number(count) >= (isOfChanges(queue) ? MAX_LOSSES.changes : MAX_LOSSES.rows);
    if (isMuch && nowMs - Number(firstMs) > LOSS_MS.first) return false;
    this.#database.run("UPDATE sqlite_sequence SET seq = seq + 1 WHERE name = 'event'");
    this.#database.run("INSERT INTO gap SELECT seq, ?, ? FROM sqlite_sequence WHERE name = 'event'", queue, nowMs);
    return true;
  }
}
