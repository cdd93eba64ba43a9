import type { HubDatabase } from './database.ts';
import type { MacEvent, StreamPlace } from './stored-event.ts';

/** The sequence of an event that the stream does not have. It is behind every place until the stream has it again. */
const LOST = Number.MAX_SAFE_INTEGER;
const STREAM_ID = '(SELECT id FROM stream WHERE created = ?)';
const HOUR_MS = 3_600_000;

/** The places of events besides their first ones. Callers hold a transaction. */
export class PlaceTable {
  readonly #database: HubDatabase;
  readonly #backfillMs: number;
  /** Sources with lost events; undefined before they were looked up. */
  #lacking: Set<number> | undefined;

  /** `backfillHours`: how far back Macs publish again into a stream that was created again. */
  constructor(database: HubDatabase, backfillHours = 24) {
    this.#database = database;
    // An hour more, because messages may come later than they are dated.
    this.#backfillMs = (backfillHours + 1) * HOUR_MS;
  }

  /** Notes a further place of an event. */
  note(stream: string, { sequence, atMs }: Pick<MacEvent, 'sequence' | 'atMs'>, number: number): void {
    const sql = `INSERT OR IGNORE INTO later_place (stream, sequence, at_ms, number) VALUES (${STREAM_ID}, ?, ?, ?)`;
    this.#database.run(sql, stream, sequence, atMs, number);
  }

  /** Notes where a stream is read on: behind `before`, or again because it lost its end or was created again. */
  follow(before: StreamPlace | undefined, { stream, sequence }: Pick<StreamPlace, 'stream' | 'sequence'>): void {
    if (before?.stream === stream && sequence <= before.sequence) this.#lose(stream, sequence);
    // This hub must see a stream that follows another one from its start.
    const first = before === undefined ? sequence : 0;
    this.#database.run('INSERT OR IGNORE INTO stream (created, first_sequence) VALUES (?, ?)', stream, first);
    if (before !== undefined && before.stream !== stream) this.#expect(stream);
  }

  /** A source, which publishes in the order of its rows, is at its newest: what has not come again never will. */
  settle(source: number): void {
    const marks = `stream IN (SELECT id FROM stream) AND sequence = ${LOST}`;
    const sourceOf = '(SELECT source FROM event WHERE event.number = later_place.number)';
    if (this.#lacking === undefined) {
      const rows = this.#database.all(`SELECT DISTINCT ${sourceOf} FROM later_place WHERE ${marks}`);
      this.#lacking = new Set(rows.map(([id]) => Number(id)));
    }
    if (this.#lacking.delete(source)) {
      this.#database.run(`DELETE FROM later_place WHERE ${marks} AND ${sourceOf} = ?`, source);
    }
  }

  /** Forgets what is only in memory, after a transaction that failed. */
  forget(): void {
    this.#lacking = undefined;
  }

  /** Removes the mark of a lost event that the stream has again. Returns false if there was none. */
  find(stream: string, number: number): boolean {
    const where = `WHERE stream = ${STREAM_ID} AND sequence = ${LOST} AND number = ?`;
    const wasLost = this.#database.get(`SELECT 1 FROM later_place ${where}`, stream, number) !== undefined;
    if (wasLost) this.#database.run(`DELETE FROM later_place ${where}`, stream, number);
    return wasLost;
  }

  /** Marks the events from this sequence on as lost by the stream. Hubs that have read it since may not have them. */
  #lose(stream: string, sequence: number): void {
    const lost = (table: string): string =>
      `SELECT stream, ${LOST}, at_ms, number FROM ${table} WHERE stream = ${STREAM_ID} AND sequence >= ?`;
    this.#database.run(
      `INSERT OR IGNORE INTO later_place (stream, sequence, at_ms, number) ${lost('event')} UNION ${lost('later_place')}`,
      ...[stream, sequence, stream, sequence],
    );
    this.forget();
  }

  /**
   * A stream that was created again has none of the events here that its Macs will publish again. A client of another
   * hub may be past newer events and lack these, so its offsets go back before the first of them.
   */
  #expect(stream: string): void {
    const sql = `INSERT OR IGNORE INTO later_place (stream, sequence, at_ms, number)
      SELECT ${STREAM_ID}, ${LOST}, at_ms, number FROM event WHERE at_ms >= ?`;
    this.#database.run(sql, stream, Date.parse(stream) - this.#backfillMs);
    this.forget();
  }
}
