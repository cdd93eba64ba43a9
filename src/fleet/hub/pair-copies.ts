import { createHash } from 'node:crypto';
import { type Event, LATE_S } from '../../domain/event.ts';
import type { StreamOffset } from '../../domain/offset.ts';
import type { Pair } from '../protocol/pair.ts';
import type { HubDatabase } from './database.ts';
import { EventIndex } from './event-index.ts';
import type { Pairs } from './pairs.ts';
import { PlaceTable } from './place-table.ts';
import type { MacEvent, StoredEvent } from './stored-event.ts';

const MS_PER_S = 1000;
const DAY_MS = 86_400_000;
/** Events read at once. */
const STEP = 2000;
/** Guids are forgotten behind this many events. */
const MAX_KNOWN = 1_000_000;
const STREAM_ID = '(SELECT id FROM stream WHERE created = ?)';

/**
 * `known`: the guids that a pair has published, with the number of their event. `macs` has a bit for each of the two
 * Macs that has shown it. `merged_place`: places of the stream that hold the other Mac's copy of a published event, and
 * the number up to which a client has everything that a hub published up to there.
 */
const TABLES = [
  `CREATE TABLE IF NOT EXISTS known (
     member TEXT NOT NULL, guid TEXT NOT NULL, number INTEGER NOT NULL, content INTEGER, macs INTEGER NOT NULL,
     PRIMARY KEY (member, guid)
   ) WITHOUT ROWID`,
  'CREATE INDEX IF NOT EXISTS known_content ON known (content)',
  'CREATE INDEX IF NOT EXISTS known_number ON known (number)',
  `CREATE TABLE IF NOT EXISTS merged_place (
     stream INTEGER NOT NULL, sequence INTEGER NOT NULL, at_ms INTEGER NOT NULL, message_id TEXT NOT NULL,
     number INTEGER NOT NULL, PRIMARY KEY (stream, sequence, at_ms)
   ) WITHOUT ROWID`,
];

type Read = (event: MacEvent) => Event;

/** Finds the events that both Macs of a pair publish, each of which gets one number (decision N6). */
export class PairCopies {
  readonly #database: HubDatabase;
  readonly #pairs: Pairs;
  readonly #read: Read;

  constructor(database: HubDatabase, pairs: Pairs, read: Read) {
    this.#database = database;
    this.#pairs = pairs;
    this.#read = read;
    for (const sql of TABLES) database.run(sql);
  }

  /** Reports whether the other Mac published the event, or nobody is to; then it notes the place of this copy. */
  merge(stream: string, event: MacEvent): boolean {
    const number = this.#numberOf(event);
    if (number === undefined) return false;
    const { sequence, atMs, messageId } = event;
    // An event of an earlier stream: what follows it here may not be in this stream yet.
    this.#database.run(
      `INSERT OR IGNORE INTO merged_place (stream, sequence, at_ms, message_id, number)
       SELECT id, ?, ?, ?, ifnull((SELECT number FROM event WHERE number = ? AND event.stream <> stream.id),
         (SELECT ifnull(max(number), 0) FROM event)) FROM stream WHERE created = ?`,
      ...[sequence, atMs, messageId, number, stream],
    );
    const places = new PlaceTable(this.#database);
    if (number > 0 && places.find(stream, number)) places.note(stream, event, number);
    // A refilled stream may have the event at this place alone, or here first.
    this.#database.run(
      `INSERT OR IGNORE INTO later_place (stream, sequence, at_ms, number)
       SELECT here.id, ?, ?, number FROM event, stream AS here WHERE number = ? AND here.created = ?
         AND NOT (event.stream = here.id AND event.sequence <= ?) AND NOT EXISTS (SELECT 1 FROM later_place
           WHERE number = event.number AND stream = here.id AND sequence <= ?)`,
      ...[sequence, atMs, number, stream, sequence, sequence],
    );
    return true;
  }

  /** Gives events that the two Macs published before they were a pair one number each. */
  mergeStored({ mac, standby }: Pair): void {
    const index = new EventIndex(this.#database);
    this.#database.transaction(() => {
      for (let events = index.events(0, Number.MAX_SAFE_INTEGER, STEP); events.length > 0; ) {
        for (const event of events) if (event.mac === mac || event.mac === standby) this.#mergeOne(event);
        events = index.events(events.at(-1)?.number ?? 0, Number.MAX_SAFE_INTEGER, STEP);
      }
    });
  }

  #mergeOne(event: StoredEvent): void {
    const known = this.#numberOf(event);
    if (known === undefined) this.add(event);
    if (known === undefined || known === 0 || known === event.number) return;
    this.#database.run('DELETE FROM event WHERE number = ?', event.number);
    this.#database.run('DELETE FROM later_place WHERE number = ?', event.number);
    this.merge(event.stream, event);
  }

  /** The number of the event that this one repeats: 0 for history that the standby's iCloud brings, undefined for none. */
  #numberOf(event: MacEvent): number | undefined {
    const pair = this.#pairs.of(event.mac);
    const data = pair && this.#dataOf(event);
    if (pair === undefined || data === undefined || data.guid === '') return undefined;
    const member = pair.mac;
    const bit = bitOf(event, pair);
    const sql = 'SELECT number, macs FROM known WHERE member = ? AND guid = ?';
    const [number, macs] = this.#database.get(sql, member, data.guid) ?? [];
    if (number !== undefined) {
      if ((Number(macs) & bit) === 0) this.#markSeen(member, Number(number));
      return Number(number);
    }
    const writtenMs = Date.parse(data.timestamp);
    if (event.mac === pair.standby && writtenMs < pair.sinceMs - DAY_MS) return 0;
    return event.atMs - writtenMs > LATE_S * MS_PER_S ? this.#renamed(member, data, bit) : undefined;
  }

  /** Remembers an event that was published. */
  add(event: StoredEvent): void {
    const pair = this.#pairs.of(event.mac);
    const data = pair && this.#dataOf(event);
    if (pair === undefined || data === undefined) return;
    this.#pairs.noteEvent(this.#pairs.nameOf(event.mac));
    if (data.guid !== '') this.#insert(pair.mac, data, event.number, bitOf(event, pair));
  }

  /** The number to continue after for a client that has everything up to a copy that was merged here. */
  numberAt({ stream, sequence, messageId, atMs }: StreamOffset): number | undefined {
    const where = `WHERE stream = ${STREAM_ID} AND sequence = ? AND at_ms = ? AND message_id = ?`;
    return this.#database.number(`SELECT number FROM merged_place ${where}`, stream, sequence, atMs, messageId);
  }

  /** Deletes what no offset can name any more, and the oldest guids beyond the limit. */
  cut(beforeMs: number): void {
    this.#database.run('DELETE FROM merged_place WHERE at_ms < ?', beforeMs);
    this.#database.run('DELETE FROM known WHERE number < (SELECT max(number) FROM known) - ?', MAX_KNOWN);
  }

  /** A message that iCloud gave another guid: the other Mac has shown one like it, and this one has not yet. */
  #renamed(member: string, data: Event['data'], bit: number): number | undefined {
    const content = contentOf(member, data);
    if (content === undefined) return undefined;
    const sql = 'SELECT min(number) FROM known WHERE content = ? AND member = ? AND (macs & ?) = 0';
    const number = this.#database.number(sql, content, member, bit);
    if (number === undefined) return undefined;
    this.#markSeen(member, number);
    this.#insert(member, data, number, 3);
    return number;
  }

  #insert(member: string, data: Event['data'], number: number, macs: number): void {
    const sql = 'INSERT OR IGNORE INTO known (member, guid, number, content, macs) VALUES (?, ?, ?, ?, ?)';
    this.#database.run(sql, member, data.guid, number, contentOf(member, data) ?? null, macs);
  }

  #markSeen(member: string, number: number): void {
    this.#database.run('UPDATE known SET macs = 3 WHERE member = ? AND number = ?', member, number);
  }

  /** Undefined for an event that cannot be read, which no client is shown either. */
  #dataOf(event: MacEvent): Event['data'] | undefined {
    try {
      return (event.read ?? this.#read(event)).data;
    } catch {
      return undefined;
    }
  }
}

function bitOf({ mac }: MacEvent, pair: Pair): number {
  return mac === pair.mac ? 1 : 2;
}

/** Equal for messages that say the same in one second and conversation; undefined without anything to compare. */
function contentOf(member: string, data: Event['data']): number | undefined {
  const said =
    'body' in data ? [data.body, data.attachments.length] : [data.associated_message_type, data.message_guid];
  if (said[0] === '' && said[1] === 0) return undefined;
  const { conversation_id: conversation, sender, is_from_me: isOwn, timestamp } = data;
  // The part before the first semicolon differs between releases of macOS.
  const plain = conversation.slice(conversation.indexOf(';') + 1);
  const text = JSON.stringify([member, plain, sender, isOwn, timestamp, ...said]);
  return createHash('sha256').update(text).digest().readUIntBE(0, 6);
}
