import type { HubDatabase } from './database.ts';
import type { Hole, MacEvent } from './stored-event.ts';

const IN_STREAM = 'stream = (SELECT id FROM stream WHERE created = ?)';

/** The holes and gaps in hub.db. Its callers hold a transaction. */
export class HoleTable {
  readonly #database: HubDatabase;

  constructor(database: HubDatabase) {
    this.#database = database;
  }

  /** Open holes, the oldest of each Mac first. */
  list(): readonly Hole[] {
    const rows = this.#database.all(
      `SELECT mac, epoch, after_row, hole.last_row, before_row, opened_ms
       FROM hole JOIN source ON source.id = hole.source ORDER BY mac, opened_ms, before_row`,
    );
    return rows.map(([mac, epoch, after, last, before, openedMs]) => ({
      ...{ mac: String(mac), epoch: String(epoch), after: Number(after), last: Number(last) },
      ...{ before: Number(before), openedMs: Number(openedMs) },
    }));
  }

  /** `place` is that of what shows the hole. */
  open(
    stream: string,
    source: number,
    { after, last, before, openedMs }: Omit<Hole, 'mac' | 'epoch'>,
    { sequence, atMs }: Pick<MacEvent, 'sequence' | 'atMs'>,
  ): void {
    // The missing rows were published behind the last row that is known.
    this.#database.run(
      `INSERT INTO hole (source, before_row, after_row, last_row, opened_ms, sequence, at_ms, stream, floor)
       SELECT ?, ?, ?, ?, ?, ?, ?, id, ifnull((SELECT max(sequence) FROM
           (SELECT source, row, stream, sequence FROM event UNION ALL SELECT source, row, stream, sequence FROM waiting)
         WHERE source = ? AND row = ? AND stream = id), 0) FROM stream WHERE created = ?`,
      ...[source, before, after, last, openedMs, sequence, atMs, source, after, stream],
    );
  }

  /** The place of what showed a hole, which its rows share. */
  placeOf(
    source: number,
    before: number,
  ): { readonly stream: string; readonly sequence: number; readonly atMs: number } {
    const sql =
      'SELECT created, sequence, at_ms FROM hole JOIN stream ON id = stream WHERE source = ? AND before_row = ?';
    const [stream = '', sequence, atMs] = this.#database.get(sql, source, before) ?? [];
    return { stream: String(stream), sequence: Number(sequence), atMs: Number(atMs) };
  }

  /** The hole that misses a row whose Mac published `previousRow` before it. */
  around(source: number, row: number, previousRow: number): Pick<Hole, 'before' | 'last'> | undefined {
    const sql = `SELECT before_row, last_row FROM hole
       WHERE source = ? AND after_row < ? AND last_row >= ? AND after_row >= ?`;
    const found = this.#database.get(sql, source, row, row, previousRow);
    return found && { before: Number(found[0]), last: Number(found[1]) };
  }

  /** Rows up to `after` are missing no longer. */
  shrink(source: number, before: number, after: number): void {
    this.#database.run('UPDATE hole SET after_row = ? WHERE source = ? AND before_row = ?', after, source, before);
  }

  /** Returns `before` of the next hole of this Mac; undefined if there is none. */
  delete(source: number, before: number): number | undefined {
    this.#database.run('DELETE FROM hole WHERE source = ? AND before_row = ?', source, before);
    return this.#database.number('SELECT min(before_row) FROM hole WHERE source = ?', source);
  }

  /** The sequence up to which no hole is open; undefined if there are none. */
  floor(stream: string): number | undefined {
    return this.#database.number(`SELECT min(CASE WHEN ${IN_STREAM} THEN floor ELSE 0 END) FROM hole`, stream);
  }

  /** Keeps an event behind a hole. */
  wait(stream: string, source: number, event: MacEvent): void {
    this.#database.run(
      `INSERT INTO waiting (stream, source, row, sequence, message_id, at_ms, type, key_id, body)
       VALUES ((SELECT id FROM stream WHERE created = ?), ?, ?, ?, ?, ?, ?, ?, ?)`,
      ...[stream, source, event.row, event.sequence, event.messageId, event.atMs, event.type],
      ...[event.keyId, event.body],
    );
  }

  /** Takes the events below a row that waited, with the stream of each. */
  takeWaiting(source: number, until: number): readonly (readonly [string, Omit<MacEvent, 'mac' | 'epoch'>])[] {
    const rows = this.#database.all(
      `SELECT created, row, sequence, message_id, at_ms, type, key_id, body FROM waiting JOIN stream ON stream.id = stream
       WHERE source = ? AND row < ? ORDER BY row`,
      ...[source, until],
    );
    this.#database.run('DELETE FROM waiting WHERE source = ? AND row < ?', source, until);
    return rows.map(([stream, row, sequence, messageId, atMs, type, keyId, body]) => [
      String(stream),
      {
        ...{ row: Number(row), sequence: Number(sequence), messageId: String(messageId), atMs: Number(atMs) },
        ...{ type: String(type), keyId: keyId === null ? null : String(keyId), body: body as Uint8Array },
      },
    ]);
  }

  /** Adds a number without an event, which durable readers record as gone. */
  addGap(): void {
    this.#database.run("UPDATE sqlite_sequence SET seq = seq + 1 WHERE name = 'event'");
    this.#database.run("INSERT INTO gap SELECT seq FROM sqlite_sequence WHERE name = 'event'");
  }
}
