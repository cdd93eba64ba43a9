import { CHANGE_EVENT_TYPES } from '../../../core/model/event.ts';
import type { Row } from '../../../core/runtime/sqlite.ts';
import { type HubDatabase, STREAM_ID } from './hub-database.ts';
import { LOST } from './place-table.ts';
import type { StoredEvent, StreamMessage, StreamPlace } from './stored-event.ts';
import { IS_OF_ROWS } from './waiting-table.ts';

const COLUMNS = `event.number, stream.created, event.sequence, event.message_id, event.at_ms, source.mac, source.epoch,
  event.row, event.type, event.key_id, event.body, event.floor, event.change_floor`;
const FROM = 'FROM event JOIN stream ON stream.id = event.stream JOIN source ON source.id = event.source';

/** SQL condition: the event is a new row, not a change. */
const IS_ROW = `event.type NOT IN (${CHANGE_EVENT_TYPES.map((type) => `'${type}'`).join()})`;

/** SQL query: the event's places in `later_place` for its own stream. */
const OWN_PLACES = 'SELECT 1 FROM later_place AS own WHERE own.number = event.number AND own.stream = event.stream';

/** Number of events or places that are looked at in the order of times or sequences. */
const FEW = 256;

/** Looks up events in hub.db by number, by their place in the stream, and by time. */
export class EventIndex {
  readonly #database: HubDatabase;

  constructor(database: HubDatabase) {
    this.#database = database;
  }

  /** Returns the first `limit` events with numbers after `after`, up to `upTo`. `isOfRows` leaves changes out. */
  events(after: number, upTo: number, limit: number, isOfRows = false): readonly StoredEvent[] {
    const kind = isOfRows ? `AND ${IS_ROW}` : '';
    const where = `WHERE event.number > ? AND event.number <= ? ${kind} ORDER BY event.number LIMIT ?`;
    return this.#database.all(`SELECT ${COLUMNS} ${FROM} ${where}`, after, upTo, limit).map(toEvent);
  }

  /** Returns the newest event with a number up to `number`; undefined if there is none. */
  upTo(number: number): StoredEvent | undefined {
    const where = 'WHERE event.number <= ? ORDER BY event.number DESC LIMIT 1';
    const row = this.#database.get(`SELECT ${COLUMNS} ${FROM} ${where}`, number);
    return row && toEvent(row);
  }

  /**
   * Returns the number of the newest event before all of these numbers, 0 if there is none; undefined without numbers.
   * A gap directly before them is thus after the returned number.
   */
  before(...numbers: readonly (number | undefined)[]): number | undefined {
    const first = lowest(numbers);
    return first === undefined ? undefined : (this.upTo(first - 1)?.number ?? 0);
  }

  /** Returns the newest event for a Mac's row; undefined if there is none. */
  ofRow(mac: string, row: number): StoredEvent | undefined {
    const where = 'WHERE source.queue = ? AND event.row = ? ORDER BY event.number DESC LIMIT 1';
    const found = this.#database.get(`SELECT ${COLUMNS} ${FROM} ${where}`, mac, row);
    return found && toEvent(found);
  }

  /**
   * Returns the first `limit` waiting events of a queue. Stops before the first event that still waits for missing
   * rows. The `number` of each returned event is its number in the table `waiting`.
   */
  waiting(queue: string, limit: number): readonly StoredEvent[] {
    const columns = COLUMNS.replace('event.floor, event.change_floor', 'NULL, NULL');
    const hole = 'SELECT min(number) FROM waiting WHERE queue = ? AND after_row IS NOT NULL';
    const sql = `SELECT ${columns} ${FROM.replace('event', 'waiting AS event')}
      WHERE event.queue = ? AND event.number < ifnull((${hole}), ${Number.MAX_SAFE_INTEGER}) ORDER BY event.number LIMIT ?`;
    return this.#database.all(sql, queue, queue, limit).map(toEvent);
  }

  /** The highest number of an event or a gap; 0 before the first. */
  get lastNumber(): number {
    return this.#database.number("SELECT seq FROM sqlite_sequence WHERE name = 'event'") ?? 0;
  }

  oldest(): StoredEvent | undefined {
    return this.events(0, Number.MAX_SAFE_INTEGER, 1)[0];
  }

  /**
   * Returns the number of the event in this message of the stream, even if the stream has lost the message since. All
   * four members of the place must match. Returns undefined if there is no such event.
   */
  numberAt({ stream, sequence, messageId, atMs }: StreamPlace): number | undefined {
    return this.#database.number(
      `SELECT min(number) FROM event WHERE message_id = ? AND (
         (stream = ${STREAM_ID} AND sequence = ? AND at_ms = ?)
         OR number IN (SELECT number FROM later_place WHERE stream = ${STREAM_ID} AND sequence = ? AND at_ms = ?))`,
      ...[messageId, stream, sequence, atMs, stream, sequence, atMs],
    );
  }

  /** Returns the lowest number of the events with this message id; undefined if there are none. */
  numberOf(messageId: string): number | undefined {
    return this.#database.number('SELECT min(number) FROM event WHERE message_id = ?', messageId);
  }

  /** Returns the lowest number of the events that a stream holds after `sequence`; undefined if there are none. */
  firstBehind(stream: string, sequence: number): number | undefined {
    // Events without an entry in `later_place` for their own stream are regular: their numbers are in the order of
    // their sequences.
    const regular = `SELECT number FROM event WHERE stream = ${STREAM_ID} AND sequence > ? AND NOT EXISTS (${OWN_PLACES})
      ORDER BY sequence LIMIT 1`;
    const irregular = this.#lowestLater('', `stream = ${STREAM_ID} AND sequence > ?`, stream, sequence);
    return lowest([irregular, this.#database.number(regular, stream, sequence)]);
  }

  /** Returns the lowest number of the events that a stream has lost and not received again; undefined if none. */
  firstLost(stream: string): number | undefined {
    return this.#lowestLater('', `stream = ${STREAM_ID} AND sequence = ?`, stream, LOST);
  }

  /** Returns the lowest number of the events that the broker stored at or after `atMs`; undefined if there are none. */
  firstSince(atMs: number): number | undefined {
    // The numbers of events without a later place in their own stream are in the order of their times, as far as the
    // clocks of the broker's servers agree. So the lowest number is among the first few.
    const isLater = `EXISTS (${OWN_PLACES} AND own.at_ms >= event.at_ms)`;
    const regular = `SELECT number FROM event INDEXED BY event_time WHERE at_ms >= ? AND NOT ${isLater}
      ORDER BY at_ms LIMIT ${FEW}`;
    const first = this.#database.number(`SELECT min(number) FROM (${regular})`, atMs);
    return lowest([first, this.#lowestLater('INDEXED BY later_time', 'at_ms >= ?', atMs)]);
  }

  /**
   * Returns the lowest number in the rows of `later_place` that a condition selects; undefined if it selects none.
   * `index` is the SQL that names the index for a few rows. If the condition selects many rows, looks for the first of
   * them in the order of numbers, because one of the lowest numbers is then probably among them.
   */
  #lowestLater(index: string, condition: string, ...parameters: readonly (string | number)[]): number | undefined {
    const some = `SELECT number FROM later_place ${index} WHERE ${condition} LIMIT ${FEW}`;
    const [count, first] = this.#database.get(`SELECT count(*), min(number) FROM (${some})`, ...parameters) ?? [];
    if (Number(count) < FEW) return first === null ? undefined : Number(first);
    const sql = `SELECT number FROM later_place INDEXED BY later_number WHERE ${condition} ORDER BY number LIMIT 1`;
    return this.#database.number(sql, ...parameters);
  }

  /**
   * Returns the newest message known at a sequence of a stream; undefined if there is none. A restored broker may store
   * several messages at one sequence.
   */
  messageAt(stream: string, sequence: number): StreamMessage | undefined {
    const row = this.#database.get(
      `SELECT message_id, at_ms FROM (
         SELECT message_id, at_ms FROM event WHERE stream = ${STREAM_ID} AND sequence = ?
         UNION ALL SELECT message_id, at_ms FROM waiting WHERE stream = ${STREAM_ID} AND sequence = ? AND type <> ''
         UNION ALL SELECT message_id, later_place.at_ms FROM later_place JOIN event USING (number)
           WHERE later_place.stream = ${STREAM_ID} AND later_place.sequence = ?) ORDER BY at_ms DESC LIMIT 1`,
      ...[stream, sequence, stream, sequence, stream, sequence],
    );
    return row && { messageId: String(row[0]), atMs: Number(row[1]) };
  }

  /**
   * Returns the lowest number of the gaps that were recorded at or after `atMs`; undefined if there are none. Gaps in
   * changes count only with `changes`.
   */
  firstGapSince(atMs: number, changes: boolean): number | undefined {
    const sql = `SELECT min(number) FROM gap WHERE at_ms >= ? AND (${changes ? 'TRUE' : IS_OF_ROWS})`;
    return this.#database.number(sql, atMs);
  }

  /**
   * Reports whether rows are missing for good after number `after`, up to `upTo`. With `changes`, missing changes count
   * too.
   */
  hasGap(after: number, upTo: number, changes = false): boolean {
    const sql = `SELECT 1 FROM gap WHERE number > ? AND number <= ? AND (${changes ? 'TRUE' : IS_OF_ROWS})`;
    return this.#database.get(sql, after, upTo) !== undefined;
  }

  /**
   * Reports whether each number from `first` to `last` belongs to a change, or to changes that are missing for good.
   */
  isOfChanges(first: number, last: number): boolean {
    const sql = `SELECT (SELECT count(*) FROM event WHERE number BETWEEN ? AND ? AND NOT (${IS_ROW}))
      + (SELECT count(*) FROM gap WHERE number BETWEEN ? AND ? AND NOT (${IS_OF_ROWS}))`;
    return this.#database.number(sql, first, last, first, last) === last - first + 1;
  }
}

function lowest(numbers: readonly (number | undefined)[]): number | undefined {
  const found = numbers.filter((number) => number !== undefined);
  return found.length === 0 ? undefined : Math.min(...found);
}

function toEvent(row: Row): StoredEvent {
  const [number, stream, sequence, messageId, atMs, mac, epoch, macRow, type, keyId, body, floor, changeFloor] = row;
  return {
    number: Number(number),
    stream: String(stream),
    sequence: Number(sequence),
    messageId: String(messageId),
    atMs: Number(atMs),
    mac: String(mac),
    epoch: String(epoch),
    row: Number(macRow),
    type: String(type),
    keyId: keyId === null ? null : String(keyId),
    body: body as Uint8Array,
    floor: floor === null ? undefined : Number(floor),
    changeFloor: changeFloor === null ? undefined : Number(changeFloor),
  };
}
