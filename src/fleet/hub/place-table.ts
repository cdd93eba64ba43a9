import type { HubDatabase } from './database.ts';
import type { MacEvent } from './stored-event.ts';

/** The sequence of an event that its stream has lost: it is behind every place until the stream has it again. */
const LOST = Number.MAX_SAFE_INTEGER;
const STREAM_ID = '(SELECT id FROM stream WHERE created = ?)';

/** The places that events got besides their first one. Its callers hold a transaction. */
export class PlaceTable {
  readonly #database: HubDatabase;

  constructor(database: HubDatabase) {
    this.#database = database;
  }

  /** Notes a further place of an event. */
  note(stream: string, { sequence, atMs }: Pick<MacEvent, 'sequence' | 'atMs'>, number: number): void {
    const sql = `INSERT OR IGNORE INTO later_place (stream, sequence, at_ms, number) VALUES (${STREAM_ID}, ?, ?, ?)`;
    this.#database.run(sql, stream, sequence, atMs, number);
  }

  /** The stream lost its end from this sequence on: hubs that read it since do not have these events yet. */
  lose(stream: string, sequence: number): void {
    const lost = (table: string): string =>
      `SELECT stream, ${LOST}, at_ms, number FROM ${table} WHERE stream = ${STREAM_ID} AND sequence >= ?`;
    this.#database.run(
      `INSERT OR IGNORE INTO later_place (stream, sequence, at_ms, number) ${lost('event')} UNION ${lost('later_place')}`,
      ...[stream, sequence, stream, sequence],
    );
  }

  /** The stream has an event again. Returns false if it was never lost. */
  find(stream: string, number: number): boolean {
    const where = `WHERE stream = ${STREAM_ID} AND sequence = ${LOST} AND number = ?`;
    const wasLost = this.#database.get(`SELECT 1 FROM later_place ${where}`, stream, number) !== undefined;
    if (wasLost) this.#database.run(`DELETE FROM later_place ${where}`, stream, number);
    return wasLost;
  }
}
