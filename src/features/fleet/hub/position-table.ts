import type { HubDatabase } from './hub-database.ts';
import type { StreamPlace } from './stored-event.ts';

/** Stores in hub.db how far this hub has copied the stream. */
export class PositionTable {
  readonly #database: HubDatabase;
  #doubtfulAfter: number | undefined;

  constructor(database: HubDatabase) {
    this.#database = database;
    this.#doubtfulAfter = database.number('SELECT doubtful_after FROM position');
  }

  /**
   * The place of the newest message read from the stream, whether or not it was an event; undefined before the first.
   */
  get last(): StreamPlace | undefined {
    const row = this.#database.get('SELECT stream, sequence, message_id, at_ms FROM position');
    if (row === undefined) return undefined;
    const [stream, sequence, messageId, atMs] = row;
    return { stream: String(stream), sequence: Number(sequence), messageId: String(messageId), atMs: Number(atMs) };
  }

  set last({ stream, sequence, messageId, atMs }: StreamPlace) {
    this.#database.run(
      `INSERT OR REPLACE INTO position (one, stream, sequence, message_id, at_ms, doubtful_after)
       VALUES (1, ?, ?, ?, ?, ?)`,
      ...[stream, sequence, messageId, atMs, this.#doubtfulAfter ?? null],
    );
  }

  /** Sequence after which the stream may lack rows that no Mac has announced. */
  get doubtfulAfter(): number | undefined {
    return this.#doubtfulAfter;
  }

  set doubtfulAfter(sequence: number | undefined) {
    this.#database.run('UPDATE position SET doubtful_after = ?', sequence ?? null);
    this.#doubtfulAfter = sequence;
  }
}
