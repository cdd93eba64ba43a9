import type { Event } from '../../domain/event.ts';
import type { StreamOffset } from '../../domain/offset.ts';
import type { Row, Sqlite, Statement } from '../../runtime/sqlite.ts';

/** Where a message is in the stream. */
export type StreamPlace = Omit<StreamOffset, 'atMs'>;

/** An event of a Mac as the stream holds it: its body is as it came, encrypted if it was. */
export interface ReceivedEvent {
  readonly mac: string;
  readonly epoch: string;
  readonly row: number;
  readonly type: string;
  readonly messageId: string;
  readonly sequence: number;
  /** When the stream took it, Unix milliseconds. */
  readonly atMs: number;
  readonly keyId: string | null;
  readonly body: Uint8Array;
  /** What the body says, where it was read already. */
  readonly read?: Event | undefined;
}

/** The same as hub.db holds it. */
export interface StoredEvent extends ReceivedEvent {
  /** Its place in the order of this hub: no client sees it. */
  readonly number: number;
  readonly stream: string;
}

const COLUMNS = `event.number, stream.created, event.sequence, event.message_id, event.at_ms, source.mac, source.epoch,
  event.row, event.type, event.key_id, event.body`;
const FROM = 'FROM event JOIN stream ON stream.id = event.stream JOIN source ON source.id = event.source';
/** Rows that are deleted at once: a few milliseconds' work. */
const CUT_ROWS = 2000;

interface Source {
  readonly id: number;
  lastRow: number;
}

/** The copy of the stream in hub.db (decision N1). */
export class EventStore {
  readonly #database: Sqlite;
  readonly #statements = new Map<string, Statement>();
  readonly #sources = new Map<string, Source>();
  #newest: number;
  #moved = 0;

  constructor(database: Sqlite) {
    this.#database = database;
    for (const [id, mac, epoch, lastRow] of this.#all('SELECT id, mac, epoch, last_row FROM source')) {
      this.#sources.set(`${String(mac)} ${String(epoch)}`, { id: Number(id), lastRow: Number(lastRow) });
    }
    this.#newest = Number(this.#get("SELECT seq FROM sqlite_sequence WHERE name = 'event'")?.[0] ?? 0);
  }

  /** Number of the newest event; 0 before the first. */
  get newest(): number {
    return this.#newest;
  }

  /** Counts how often the place of an event has changed. */
  get moved(): number {
    return this.#moved;
  }

  /** The last message that was looked at, whether or not it was an event. */
  get position(): StreamPlace | undefined {
    const row = this.#get('SELECT stream, sequence, message_id FROM position');
    return row && { stream: String(row[0]), sequence: Number(row[1]), messageId: String(row[2]) };
  }

  /** The newest row there ever was of this Mac and epoch; undefined when there is none. */
  lastRow(mac: string, epoch: string): number | undefined {
    return this.#sources.get(`${mac} ${epoch}`)?.lastRow;
  }

  /**
   * Adds what is not there, in one transaction with the position. Of an event that is there the place is noted: the
   * stream was created again, or lost its end, and was refilled.
   */
  add(stream: string, events: readonly ReceivedEvent[], position: Omit<StreamPlace, 'stream'>): readonly StoredEvent[] {
    const before = new Map([...this.#sources].map(([name, source]) => [name, source.lastRow]));
    const newest = this.#newest;
    try {
      return this.#database.transaction(() => {
        const streamId = this.#streamId(stream);
        const added = events.flatMap((event) => this.#addOne(stream, streamId, event));
        this.#run(
          'INSERT OR REPLACE INTO position (one, stream, sequence, message_id) VALUES (1, ?, ?, ?)',
          stream,
          position.sequence,
          position.messageId,
        );
        return added;
      });
    } catch (error) {
      for (const [name, source] of this.#sources) {
        const lastRow = before.get(name);
        if (lastRow === undefined) this.#sources.delete(name);
        else source.lastRow = lastRow;
      }
      this.#newest = newest;
      throw error;
    }
  }

  /** In order, at most `limit`. */
  events(after: number, upTo: number, limit: number): readonly StoredEvent[] {
    const where = 'WHERE event.number > ? AND event.number <= ? ORDER BY event.number LIMIT ?';
    return this.#all(`SELECT ${COLUMNS} ${FROM} ${where}`, after, upTo, limit).map(toEvent);
  }

  /** The newest event up to a number; undefined when there is none. */
  upTo(number: number): StoredEvent | undefined {
    const row = this.#get(
      `SELECT ${COLUMNS} ${FROM} WHERE event.number <= ? ORDER BY event.number DESC LIMIT 1`,
      number,
    );
    return row && toEvent(row);
  }

  oldest(): StoredEvent | undefined {
    return this.events(0, this.#newest, 1)[0];
  }

  /** Number of the event that is, or was, at exactly this place. */
  numberAt({ stream, sequence, messageId }: StreamPlace): number | undefined {
    const row = this.#get(
      `SELECT number FROM event WHERE message_id = ? AND (
         (stream, sequence) = (SELECT id, ? FROM stream WHERE created = ?)
         OR number IN (SELECT number FROM earlier_place
           WHERE (stream, sequence) = (SELECT id, ? FROM stream WHERE created = ?)))
       ORDER BY number LIMIT 1`,
      messageId,
      sequence,
      stream,
      sequence,
      stream,
    );
    return row && Number(row[0]);
  }

  /** Number of the event with this message id, wherever it is. */
  numberOf(messageId: string): number | undefined {
    const row = this.#get('SELECT min(number) FROM event WHERE message_id = ?', messageId);
    return row?.[0] === null ? undefined : row && Number(row[0]);
  }

  /** Number of the newest event before a place; undefined where the stream is not known, or nothing before it. */
  numberBefore(stream: string, sequence: number): number | undefined {
    const row = this.#get(
      `SELECT max(number) FROM event WHERE stream = (SELECT id FROM stream WHERE created = ?) AND sequence < ?`,
      stream,
      sequence,
    );
    return row?.[0] === null ? undefined : row && Number(row[0]);
  }

  knowsStream(stream: string): boolean {
    return this.#get('SELECT 1 FROM stream WHERE created = ?', stream) !== undefined;
  }

  /** Number of the newest event that the stream took before an instant; 0 when there is none. */
  numberBeforeTime(atMs: number): number {
    const first = this.#get('SELECT min(number) FROM event WHERE at_ms >= ?', atMs)?.[0];
    return first === null || first === undefined ? this.#newest : Number(first) - 1;
  }

  /** Id of the message at a place, where an event is there now. */
  messageIdAt(stream: string, sequence: number): string | undefined {
    const where = 'stream = (SELECT id FROM stream WHERE created = ?) AND sequence = ?';
    const row = this.#get(`SELECT message_id FROM event WHERE ${where}`, stream, sequence);
    return row && String(row[0]);
  }

  /** The newest row of each Mac, whatever its epoch was. */
  newestRows(): ReadonlyMap<string, { readonly row: number; readonly atMs: number }> {
    const rows = this.#all(
      `SELECT mac, row, at_ms FROM (SELECT source.mac AS mac, max(event.number) AS number FROM source
         JOIN event ON event.source = source.id AND event.row = source.last_row GROUP BY source.mac)
       JOIN event USING (number)`,
    );
    return new Map(rows.map(([mac, row, atMs]) => [String(mac), { row: Number(row), atMs: Number(atMs) }]));
  }

  /** Deletes a few of those that the stream no longer keeps; the newest stays. True when there may be more. */
  cut(beforeMs: number, stream: string, firstSequence: number): boolean {
    const where = `number < (SELECT max(number) FROM event)
      AND (at_ms < ? OR (stream = (SELECT id FROM stream WHERE created = ?) AND sequence < ?))`;
    return this.#database.transaction(() => {
      const numbers = this.#all(
        `SELECT number FROM event WHERE ${where} ORDER BY number LIMIT ${CUT_ROWS}`,
        beforeMs,
        stream,
        firstSequence,
      ).map(([number]) => Number(number));
      const last = numbers.at(-1);
      if (last === undefined) return false;
      this.#run(`DELETE FROM event WHERE number <= ? AND ${where}`, last, beforeMs, stream, firstSequence);
      this.#run('DELETE FROM earlier_place WHERE number NOT IN (SELECT number FROM event) AND number <= ?', last);
      return numbers.length === CUT_ROWS;
    });
  }

  #addOne(stream: string, streamId: number, event: ReceivedEvent): readonly StoredEvent[] {
    const { mac, epoch, row, sequence } = event;
    const source = this.#source(mac, epoch);
    if (row <= source.lastRow) {
      this.#notePlace(streamId, sequence, source.id, row);
      return [];
    }
    this.#run(
      `INSERT INTO event (stream, sequence, message_id, at_ms, source, row, type, key_id, body)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
      streamId,
      sequence,
      event.messageId,
      event.atMs,
      source.id,
      row,
      event.type,
      event.keyId,
      event.body,
    );
    this.#run('UPDATE source SET last_row = ? WHERE id = ?', row, source.id);
    source.lastRow = row;
    this.#newest = Number(this.#get('SELECT max(number) FROM event')?.[0]);
    return [{ ...event, number: this.#newest, stream }];
  }

  #notePlace(streamId: number, sequence: number, sourceId: number, row: number): void {
    const found = this.#get('SELECT number, stream, sequence FROM event WHERE source = ? AND row = ?', sourceId, row);
    if (found === undefined || (found[1] === streamId && found[2] === sequence)) return;
    const [number = 0, before = 0, place = 0] = found;
    this.#run('INSERT OR IGNORE INTO earlier_place (stream, sequence, number) VALUES (?, ?, ?)', before, place, number);
    this.#run('UPDATE event SET stream = ?, sequence = ? WHERE number = ?', streamId, sequence, number);
    this.#moved += 1;
  }

  #source(mac: string, epoch: string): Source {
    const name = `${mac} ${epoch}`;
    const known = this.#sources.get(name);
    if (known !== undefined) return known;
    this.#run('INSERT INTO source (mac, epoch, last_row) VALUES (?, ?, 0)', mac, epoch);
    const made = {
      id: Number(this.#get('SELECT id FROM source WHERE mac = ? AND epoch = ?', mac, epoch)?.[0]),
      lastRow: 0,
    };
    this.#sources.set(name, made);
    return made;
  }

  #streamId(created: string): number {
    this.#run('INSERT OR IGNORE INTO stream (created) VALUES (?)', created);
    return Number(this.#get('SELECT id FROM stream WHERE created = ?', created)?.[0]);
  }

  #all(sql: string, ...parameters: Parameters<Statement['all']>): Row[] {
    return this.#statement(sql).all(...parameters);
  }

  #get(sql: string, ...parameters: Parameters<Statement['get']>): Row | undefined {
    return this.#statement(sql).get(...parameters);
  }

  #run(sql: string, ...parameters: Parameters<Statement['run']>): void {
    this.#statement(sql).run(...parameters);
  }

  #statement(sql: string): Statement {
    const known = this.#statements.get(sql) ?? this.#database.prepare(sql);
    this.#statements.set(sql, known);
    return known;
  }
}

function toEvent(row: Row): StoredEvent {
  const [number, stream, sequence, messageId, atMs, mac, epoch, macRow, type, keyId, body] = row;
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
  };
}
