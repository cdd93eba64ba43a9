import type { HubDatabase } from './database.ts';
import type { Hole, MacEvent } from './stored-event.ts';

const IN_STREAM = 'stream = (SELECT id FROM stream WHERE created = ?)';

/** The holes and gaps in hub.db. Callers hold a transaction. */
export class HoleTable {
  readonly #database: HubDatabase;

  constructor(database: HubDatabase) {
    this.#database = database;
    // Numbers at which changes are missing for good, of which only readers with changes learn.
    database.run('CREATE TABLE IF NOT EXISTS change_gap (number INTEGER PRIMARY KEY)');
  }

  /** Returns the open holes, the oldest of each Mac first. */
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

  /** Opens a hole at the place of the message that revealed it. */
  open(
    stream: string,
    source: number,
    { after, last, before, openedMs }: Omit<Hole, 'mac' | 'epoch'>,
    { sequence, atMs }: Pick<MacEvent, 'sequence' | 'atMs'>,
  ): void {
    // The missing rows were published after the last known row.
    this.#database.run(
      `INSERT INTO hole (source, before_row, after_row, last_row, opened_ms, sequence, at_ms, stream, floor)
       SELECT ?, ?, ?, ?, ?, ?, ?, id, ifnull((SELECT max(sequence) FROM
           (SELECT source, row, stream, sequence FROM event UNION ALL SELECT source, row, stream, sequence FROM waiting)
         WHERE source = ? AND row = ? AND stream = id), 0) FROM stream WHERE created = ?`,
      ...[source, before, after, last, openedMs, sequence, atMs, source, after, stream],
    );
  }

  /** Returns the place of the message that revealed a hole. Its rows share it. */
  placeOf(
    source: number,
    before: number,
  ): { readonly stream: string; readonly sequence: number; readonly atMs: number } {
    const sql =
      'SELECT created, sequence, at_ms FROM hole JOIN stream ON id = stream WHERE source = ? AND before_row = ?';
    const [stream = '', sequence, atMs] = this.#database.get(sql, source, before) ?? [];
    return { stream: String(stream), sequence: Number(sequence), atMs: Number(atMs) };
  }

  /** Returns the hole that contains a row and the row published before it. */
  around(source: number, row: number, previousRow: number): Pick<Hole, 'before' | 'last'> | undefined {
    const sql = `SELECT before_row, last_row FROM hole
       WHERE source = ? AND after_row < ? AND last_row >= ? AND after_row >= ?`;
    const found = this.#database.get(sql, source, row, row, previousRow);
    return found && { before: Number(found[0]), last: Number(found[1]) };
  }

  /** Moves the start of a hole, once the rows up to `after` are here. */
  shrink(source: number, before: number, after: number): void {
    this.#database.run('UPDATE hole SET after_row = ? WHERE source = ? AND before_row = ?', after, source, before);
  }

  delete(source: number, before: number): void {
    this.#database.run('DELETE FROM hole WHERE source = ? AND before_row = ?', source, before);
  }

  /** Returns `before` of a source's first hole; undefined if there is none. */
  first(source: number): number | undefined {
    return this.#database.number('SELECT min(before_row) FROM hole WHERE source = ?', source);
  }

  /** Returns the sequence up to which no hole is open; undefined without holes. */
  floor(stream: string): number | undefined {
    return this.#database.number(`SELECT min(CASE WHEN ${IN_STREAM} THEN floor ELSE 0 END) FROM hole`, stream);
  }

  /** Stores an event that waits behind a hole. */
  wait(stream: string, source: number, event: MacEvent): void {
    this.#database.run(
      `INSERT INTO waiting (stream, source, row, sequence, message_id, at_ms, type, key_id, body)
       VALUES ((SELECT id FROM stream WHERE created = ?), ?, ?, ?, ?, ?, ?, ?, ?)`,
      ...[stream, source, event.row, event.sequence, event.messageId, event.atMs, event.type],
      ...[event.keyId, event.body],
    );
  }

  /** Deletes the waiting events below a row. */
  endWaiting(source: number, until: number): void {
    this.#database.run('DELETE FROM waiting WHERE source = ? AND row < ?', source, until);
  }

  /** Uses up a number without an event, which durable readers record as gone. */
  addGap(isOfChanges: boolean): void {
    this.#database.run("UPDATE sqlite_sequence SET seq = seq + 1 WHERE name = 'event'");
    const table = isOfChanges ? 'change_gap' : 'gap';
    this.#database.run(`INSERT INTO ${table} SELECT seq FROM sqlite_sequence WHERE name = 'event'`);
  }
}
