import { createHash } from 'node:crypto';
import { DAY_MS, MS_PER_S } from '../../../core/model/durations.ts';
import { type Event, isRowEvent, LATE_S } from '../../../core/model/event.ts';
import { isChangesEpoch } from '../protocol/event-message.ts';
import { EventIndex } from './event-index.ts';
import type { EventReader } from './event-reader.ts';
import { type HubDatabase, STREAM_ID } from './hub-database.ts';
import { bitOf, PairChanges } from './pair-changes.ts';
import type { Pairs } from './pairs.ts';
import { PlaceTable } from './place-table.ts';
import type { MacEvent, StoredEvent, StreamMessage, StreamPlace } from './stored-event.ts';

/** Maximum number of events examined in one step of merging. */
const STEP = 500;
/** Number of newest events whose guids are remembered. */
const MAX_KNOWN = 1_000_000;

/** Recognizes the events that both Macs of a pair publish, so that each gets one number (decision N6). */
export class PairCopies {
  readonly #database: HubDatabase;
  readonly #pairs: Pairs;
  readonly #reader: EventReader;
  readonly changes: PairChanges;

  constructor(database: HubDatabase, pairs: Pairs, reader: EventReader) {
    this.#database = database;
    this.#pairs = pairs;
    this.#reader = reader;
    this.changes = new PairChanges(database, pairs, reader);
  }

  /**
   * Reports whether this Mac belongs to a pair whose events from before the pairing are still being merged. New events
   * of both Macs wait until that is done.
   */
  isMerging(mac: string): boolean {
    return this.#pairs.isMerging(mac);
  }

  /** Reads the pairs again after a failed transaction, because they may not match hub.db. Never throws. */
  reload(): void {
    try {
      this.#pairs.load();
    } catch {
      // The transaction's error is the one to report. At worst, a pair whose events are all merged counts as merged
      // although hub.db could not store that.
    }
  }

  /**
   * Returns true if the event must not be published, because the other Mac has published it already or because it is
   * history of the standby. In that case, also records the event's place in the stream. A client whose offset names
   * that place has every event up to the number `upTo`.
   */
  merge(stream: string, event: MacEvent, upTo = Number.MAX_SAFE_INTEGER): boolean {
    const number = this.#numberOf(event);
    if (number === undefined) return false;
    const { sequence, atMs, messageId } = event;
    // A client at this place usually has every event up to `upTo`. If clients received the event from an earlier
    // stream, the place stands only for that event's own number, because the current stream may still lack later
    // events.
    this.#database.run(
      `INSERT OR IGNORE INTO merged_place (stream, sequence, at_ms, message_id, number)
       SELECT id, ?, ?, ?, ifnull((SELECT number FROM event WHERE number = ? AND event.stream <> stream.id),
         (SELECT ifnull(max(number), 0) FROM event WHERE number <= ?)) FROM stream WHERE created = ?`,
      ...[sequence, atMs, messageId, number, upTo, stream],
    );
    const places = new PlaceTable(this.#database);
    if (number > 0 && places.find(stream, number)) places.note(stream, event, number);
    // In a refilled stream, this place may be the event's only place or its first one. So the place is stored in
    // `later_place` as well.
    this.#database.run(
      `INSERT OR IGNORE INTO later_place (stream, sequence, at_ms, number)
       SELECT here.id, ?, ?, number FROM event, stream AS here WHERE number = ? AND here.created = ?
         AND NOT (event.stream = here.id AND event.sequence <= ?) AND NOT EXISTS (SELECT 1 FROM later_place
           WHERE number = event.number AND stream = here.id AND sequence <= ?)`,
      ...[sequence, atMs, number, stream, sequence, sequence],
    );
    return true;
  }

  /**
   * Merges some of the events that two Macs published before they became a pair. Returns false if nothing was left to
   * merge. Callers hold a transaction.
   */
  mergeStep(): boolean {
    const pair = this.#pairs.merging;
    if (pair === undefined) return false;
    const sql = 'SELECT min(number) FROM event WHERE number > (SELECT merged_to FROM pair WHERE mac = ?)';
    const first = this.#database.number(sql, pair.mac);
    if (first === undefined) this.#pairs.endMerging(pair);
    else {
      const upTo = first + STEP - 1;
      for (const event of new EventIndex(this.#database).events(first - 1, upTo, STEP)) {
        if (event.mac === pair.mac || event.mac === pair.standby) this.#mergeOne(event);
      }
      this.#database.run('UPDATE pair SET merged_to = ? WHERE mac = ?', upTo, pair.mac);
    }
    return true;
  }

  #mergeOne(event: StoredEvent): void {
    const known = this.#numberOf(event);
    if (known === undefined) this.add(event);
    if (known === undefined || known === 0 || known === event.number) return;
    this.#database.run('DELETE FROM event WHERE number = ?', event.number);
    this.merge(event.stream, event, event.number);
  }

  /**
   * Returns the number of the published event that `event` repeats. Returns 0 for history of the standby, which is
   * never published, and undefined for a new event.
   */
  #numberOf(event: MacEvent): number | undefined {
    const pair = this.#pairs.of(event.mac);
    if (pair === undefined) return undefined;
    const member = pair.mac;
    const bit = bitOf(event, pair);
    if (isChangesEpoch(event.epoch)) return this.changes.numberOf(pair, event);
    const data = this.#dataOf(event);
    if (data === undefined || data.guid === '') return undefined;
    const sql = 'SELECT number, macs FROM known WHERE member = ? AND guid = ?';
    const [number, macs] = this.#database.get(sql, member, data.guid) ?? [];
    if (number !== undefined) {
      if ((Number(macs) & bit) === 0) this.#markSeen(member, Number(number));
      return Number(number);
    }
    if (event.mac === pair.standby && Date.parse(data.timestamp) < pair.sinceMs - DAY_MS) return 0;
    return isLate(event, data) ? this.#renamed(member, data, bit) : undefined;
  }

  /** Remembers a published event. */
  add(event: StoredEvent): void {
    const pair = this.#pairs.of(event.mac);
    if (pair === undefined) return;
    if (isChangesEpoch(event.epoch)) this.changes.add(pair, event);
    const data = this.#dataOf(event);
    if (data === undefined) return;
    this.#pairs.noteEvent(this.#pairs.nameOf(event.mac));
    if (data.guid === '') return;
    // Messages under different guids can be one message only if both arrived late (decision N6).
    const content = isLate(event, data) ? contentOf(pair.mac, data) : undefined;
    this.#insert(pair.mac, data.guid, event.number, bitOf(event, pair), content);
  }

  /**
   * Returns the number after which a client continues if its offset names the place of a merged copy; undefined for any
   * other place.
   */
  numberAt({ stream, sequence, messageId, atMs }: StreamPlace): number | undefined {
    const where = `WHERE stream = ${STREAM_ID} AND sequence = ? AND at_ms = ? AND message_id = ?`;
    return this.#database.number(`SELECT number FROM merged_place ${where}`, stream, sequence, atMs, messageId);
  }

  /** Returns the newest merged copy at a sequence of the stream. After a broker was restored, there may be several. */
  messageAt(stream: string, sequence: number): StreamMessage | undefined {
    const where = `WHERE stream = ${STREAM_ID} AND sequence = ? ORDER BY at_ms DESC LIMIT 1`;
    const row = this.#database.get(`SELECT message_id, at_ms FROM merged_place ${where}`, stream, sequence);
    return row && { messageId: String(row[0]), atMs: Number(row[1]) };
  }

  /**
   * Deletes the merged places stored before `beforeMs`, because no valid offset can name them. Also deletes the guids
   * and changes whose event number is more than `MAX_KNOWN` below the newest.
   */
  cut(beforeMs: number): void {
    this.#database.run('DELETE FROM merged_place WHERE at_ms < ?', beforeMs);
    this.#database.run('DELETE FROM known WHERE number < (SELECT max(number) FROM known) - ?', MAX_KNOWN);
    this.changes.cut(MAX_KNOWN);
  }

  /**
   * Looks for an equal message that only the other Mac has reported, under another guid. If there is one, returns its
   * number and records that both Macs have reported it.
   */
  #renamed(member: string, data: Event['data'], bit: number): number | undefined {
    const content = contentOf(member, data);
    if (content === undefined) return undefined;
    const sql = 'SELECT min(number) FROM known WHERE content = ? AND member = ? AND (macs & ?) = 0';
    const number = this.#database.number(sql, content, member, bit);
    if (number === undefined) return undefined;
    this.#markSeen(member, number);
    this.#insert(member, data.guid, number, 3);
    return number;
  }

  #insert(member: string, guid: string, number: number, macs: number, content?: number): void {
    const sql = 'INSERT OR IGNORE INTO known (member, guid, number, content, macs) VALUES (?, ?, ?, ?, ?)';
    this.#database.run(sql, member, guid, number, content ?? null, macs);
  }

  #markSeen(member: string, number: number): void {
    this.#database.run('UPDATE known SET macs = 3 WHERE member = ? AND number = ?', member, number);
  }

  #dataOf(stored: MacEvent): Event['data'] | undefined {
    const event = this.#reader.readIf(stored);
    return event !== undefined && isRowEvent(event) ? event.data : undefined;
  }
}

/** Reports whether the stream received a message more than `LATE_S` seconds after the message's date. */
function isLate({ atMs }: MacEvent, { timestamp }: Event['data']): boolean {
  return atMs - Date.parse(timestamp) > LATE_S * MS_PER_S;
}

/**
 * Returns a hash of conversation, sender, date and content of a message or reaction; undefined for a message that has
 * neither text nor attachments.
 */
function contentOf(member: string, data: Event['data']): number | undefined {
  const said =
    'body' in data
      ? [data.body, data.attachments.length]
      : [data.associated_message_type, data.message_guid, data.part];
  if (said[0] === '' && said[1] === 0) return undefined;
  const { conversation_id: conversation, sender, is_from_me: isOwn, timestamp } = data;
  // Drops the service before the first semicolon, because releases of macOS name the service of one conversation
  // differently.
  const plain = conversation.slice(conversation.indexOf(';') + 1);
  const text = JSON.stringify([member, plain, sender, isOwn, timestamp, ...said]);
  return createHash('sha256').update(text).digest().readUIntBE(0, 6);
}
