import { HOUR_MS } from '../../../core/model/durations.ts';
import { type HubDatabase, STREAM_ID } from './hub-database.ts';
import type { MacEvent, StreamPlace } from './stored-event.ts';

/** Stands for the sequence of an event that the stream has lost. It sorts after every real sequence. */
export const LOST = Number.MAX_SAFE_INTEGER;

/**
 * Stores the additional places of events that are in a stream more than once or in several streams. The first place of
 * an event is in the table `event`. Callers hold a transaction.
 */
export class PlaceTable {
  readonly #database: HubDatabase;
  readonly #backfillMs: number;
  /** Ids of the sources that have events marked as lost; undefined until they are looked up. */
  #lacking: Set<number> | undefined;

  /** `backfillHours`: how many hours of history Macs republish into a recreated stream. */
  constructor(database: HubDatabase, backfillHours = 24) {
    this.#database = database;
    // Adds an hour to the history, because messages may arrive later than they are dated.
    this.#backfillMs = (backfillHours + 1) * HOUR_MS;
  }

  /** Records an additional place of an event. */
  note(stream: string, { sequence, atMs }: Pick<MacEvent, 'sequence' | 'atMs'>, number: number): void {
    const sql = `INSERT OR IGNORE INTO later_place (stream, sequence, at_ms, number) VALUES (${STREAM_ID}, ?, ?, ?)`;
    this.#database.run(sql, stream, sequence, atMs, number);
  }

  /** Prepares for the next message, at `sequence`. Marks events as lost if the stream lost its end or was recreated. */
  follow(before: StreamPlace | undefined, { stream, sequence }: Pick<StreamPlace, 'stream' | 'sequence'>): void {
    if (before?.stream === stream && sequence <= before.sequence) this.#lose(stream, sequence);
    // A hub copies its first stream from the first message that it reads. It copies each later stream from the stream's
    // start.
    const first = before === undefined ? sequence : 0;
    this.#database.run('INSERT OR IGNORE INTO stream (created, first_sequence) VALUES (?, ?)', stream, first);
    if (before !== undefined && before.stream !== stream) this.#expect(stream);
  }

  /**
   * Removes the marks of a source's lost events once the source has published its newest row. A source publishes in the
   * order of its rows, so it will not republish the events that are still marked.
   */
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

  /** Drops the cached sources after a failed transaction, because they may not match the table. */
  forget(): void {
    this.#lacking = undefined;
  }

  /** Removes the mark of a lost event that the stream has again. Returns false if there was no mark. */
  find(stream: string, number: number): boolean {
    const where = `WHERE stream = ${STREAM_ID} AND sequence = ${LOST} AND number = ?`;
    const wasLost = this.#database.get(`SELECT 1 FROM later_place ${where}`, stream, number) !== undefined;
    if (wasLost) this.#database.run(`DELETE FROM later_place ${where}`, stream, number);
    return wasLost;
  }

  /**
   * Marks the events from this sequence on as lost by the stream. A hub that reads the stream only after the loss may
   * lack these events.
   */
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
   * Marks events that a recreated stream lacks until the Macs republish them. A client of another hub may have received
   * newer events but not the marked ones, so its offsets resolve to a number before the first marked event.
   */
  #expect(stream: string): void {
    const sql = `INSERT OR IGNORE INTO later_place (stream, sequence, at_ms, number)
      SELECT ${STREAM_ID}, ${LOST}, at_ms, number FROM event WHERE at_ms >= ?`;
    this.#database.run(sql, stream, Date.parse(stream) - this.#backfillMs);
    this.forget();
  }
}
