import { createHash } from 'node:crypto';
import { type ChangeEvent, isRowEvent, type LogEntry } from '../../../core/model/event.ts';
import { idOfGuid, qualify, splitId } from '../../../core/model/fleet.ts';
import type { Message, MessageStatus } from '../../../core/model/message.ts';
import type { Pair } from '../protocol/pair.ts';
import { EventIndex } from './event-index.ts';
import type { EventReader } from './event-reader.ts';
import type { HubDatabase } from './hub-database.ts';
import type { Pairs } from './pairs.ts';
import type { MacEvent, StoredEvent } from './stored-event.ts';

const OF_PART = 'member = ? AND guid = ? AND part = ?';
const DELETION = 'deletion';
const GONE: ReadonlySet<unknown> = new Set(['deleted', 'removed']);
const PARTS: Readonly<Record<string, string>> = {
  sent: 'status',
  delivered: 'status',
  read: 'status',
  failed: 'status',
  deleted: DELETION,
  restored: DELETION,
  edited: 'content',
  unsent: 'content',
};
/** Key: the status of a message. Value: the status's rank. Statuses follow each other in the order of their ranks. */
export const STATUS_RANK: Readonly<Record<MessageStatus, number>> = {
  pending: 0,
  failed: 1,
  sent: 2,
  delivered: 3,
  read: 4,
};

type Updated = Extract<ChangeEvent, { readonly type: 'message.updated' }>;
type ChangeOfOne = Updated | Extract<ChangeEvent, { readonly type: 'message.removed' }>;

interface Item {
  readonly part: string;
  readonly value: string;
  readonly at: string;
}

/** Returns the bit that stands for the Mac of an event in hub.db: 1 for the pair's first Mac, 2 for its standby. */
export function bitOf({ mac }: MacEvent, pair: Pair): number {
  return mac === pair.mac ? 1 : 2;
}

/**
 * Recognizes the changes that both Macs of a pair report, so that clients receive each once (decision N9). The table
 * `told` has a row for each change that clients received:
 * - `part`: the kind of change.
 * - `value`: the state after the change; "" if the state is not visible.
 * - `at`: the date of an edit; "" for any other change.
 * - `teller`: the bit of the Mac that reported the change first.
 * - `macs`: the bits of all Macs that have reported the change.
 */
export class PairChanges {
  readonly #database: HubDatabase;
  readonly #pairs: Pairs;
  readonly #reader: EventReader;

  constructor(database: HubDatabase, pairs: Pairs, reader: EventReader) {
    this.#database = database;
    this.#pairs = pairs;
    this.#reader = reader;
  }

  /**
   * Returns the number of the event from which clients already know the changes in `event`; the lowest number if there
   * are several such events. Returns undefined if any change in `event` is new to clients.
   */
  numberOf(pair: Pair, event: MacEvent): number | undefined {
    const { mac: member } = pair;
    const { guid, items } = this.#itemsOf(member, event);
    if (guid === '' || items.length === 0) return undefined;
    const found = items.map((item) => this.#find(member, guid, bitOf(event, pair), item));
    if (found.includes(undefined)) return undefined;
    for (const [at, item] of items.entries()) this.#mark(member, guid, item, found[at]?.place ?? 0);
    return Math.min(...found.map((one) => one?.number ?? 0));
  }

  /** Remembers a published change. */
  add(pair: Pair, event: StoredEvent): void {
    const { mac: member } = pair;
    const bit = bitOf(event, pair);
    const { guid, items } = this.#itemsOf(member, event);
    for (const item of guid === '' ? [] : items) {
      const found = this.#find(member, guid, bit, item);
      if (found !== undefined) this.#mark(member, guid, item, found.place);
      else {
        this.#database.run(
          'INSERT INTO told (member, guid, part, value, at, number, teller, macs) VALUES (?, ?, ?, ?, ?, ?, ?, ?)',
          ...[member, guid, item.part, item.value, item.at, event.number, bit, bit],
        );
      }
    }
  }

  /**
   * Returns the event as clients should see it. It has the message ids that clients know, the text that the other Mac
   * reported before and, in a change, the furthest status.
   */
  merged(stored: StoredEvent, event: LogEntry['event']): LogEntry['event'] {
    const member = this.#pairs.of(stored.mac)?.mac;
    if (member === undefined || event.type === 'messages.changed') return event;
    if (isRowEvent(event)) {
      if (!('body' in event.data)) return event;
      const text = this.#textBefore(member, event.data.guid, stored.number);
      return { ...event, data: { ...event.data, ...text } } as LogEntry['event'];
    }
    const guid = this.#guidOf(member, stored, event);
    if (guid === '') return event;
    const message = { guid, id: qualify(member, idOfGuid(guid)) };
    if (event.type === 'message.removed') return { ...event, data: { ...event.data, ...message } };
    const sql = `SELECT value FROM told WHERE ${OF_PART} AND number <= ?`;
    const told = this.#database.all(sql, member, guid, 'status', stored.number);
    const statuses = [event.data.status, ...told.map(([value]) => value as MessageStatus)];
    const status = statuses.reduce((one, other) => (STATUS_RANK[other] > STATUS_RANK[one] ? other : one));
    // One Mac may report a change after the other has reported the deletion. Clients must not take that change as a
    // sign that the message still exists.
    const [deletion] = this.#last(member, guid, DELETION, stored.number);
    const changes = GONE.has(deletion) ? [...new Set([...event.changes, 'deleted' as const])] : event.changes;
    const text = this.#textBefore(member, guid, stored.number);
    return { ...event, changes, data: { ...event.data, ...message, ...text, status } };
  }

  /**
   * Reports whether a Mac of the pair has reported the message as deleted, and neither has reported it as restored
   * since.
   */
  isDeleted(mac: string, guid: string): boolean {
    const member = this.#pairs.of(mac)?.mac;
    return member !== undefined && GONE.has(this.#last(member, guid, DELETION)[0]);
  }

  /** Forgets the changes whose event number is more than `kept` below the newest. */
  cut(kept: number): void {
    this.#database.run('DELETE FROM told WHERE number < (SELECT max(number) FROM told) - ?', kept);
  }

  /**
   * Returns the newest text that clients had received for the message before event `number`. Returns {} if there is
   * none, or if event `number` itself has a newer text.
   */
  #textBefore(member: string, guid: string, number: number): Partial<Pick<Message, 'body' | 'attachments'>> {
    const sql = `SELECT max(number) FROM told WHERE ${OF_PART} AND number <= ?`;
    const told = this.#database.number(sql, member, guid, 'content', number) ?? number;
    const [source] = told === number ? [] : new EventIndex(this.#database).events(told - 1, told, 1);
    const event = source && this.#reader.readIf(source);
    if (event?.type !== 'message.updated') return {};
    const { body, attachments } = event.data;
    // Leaves attachments out, because their paths are valid only on the Mac that reported them. An empty list is valid
    // on both.
    return attachments.length === 0 ? { body, attachments } : { body };
  }

  #last(member: string, guid: string, part: string, number = Number.MAX_SAFE_INTEGER): readonly unknown[] {
    const sql = `SELECT value, number, teller, place FROM told WHERE ${OF_PART} AND number <= ? ORDER BY place DESC LIMIT 1`;
    return this.#database.get(sql, member, guid, part, number) ?? [];
  }

  /**
   * Returns the row of `told` that covers this change; undefined if the change is new to clients. A change is not new
   * in three cases:
   * - Clients received a later edit.
   * - The other Mac of the pair has already reported the change, and since then this Mac has not been the first to
   *   report a change.
   * - The other Mac reported the newest change, and that change led to this state.
   */
  #find(member: string, guid: string, bit: number, { part, value, at }: Item) {
    const later = `SELECT number FROM told WHERE ${OF_PART} AND at > ? ORDER BY place LIMIT 1`;
    const number = at === '' ? undefined : this.#database.number(later, member, guid, part, at);
    if (number !== undefined) return { place: 0, number };
    // For an invisible change (`value` is ""), takes the newest match, because a Mac may report several such changes as
    // one. If in doubt, clients receive one event too many.
    const own = `SELECT ifnull(max(place), 0) FROM told WHERE ${OF_PART} AND teller = ?`;
    const sql = `SELECT place, number FROM told WHERE ${OF_PART} AND value = ? AND (macs & ?) = 0 AND place > (${own})
      ORDER BY place ${value === '' ? 'DESC' : 'ASC'} LIMIT 1`;
    const found = this.#database.get(sql, member, guid, part, value, bit, member, guid, part, bit);
    if (found !== undefined) return { place: Number(found[0]), number: Number(found[1]) };
    const [last, lastNumber, teller, place] = this.#last(member, guid, part);
    const isState = value !== '' && last === value && Number(teller) !== bit;
    return isState ? { place: Number(place), number: Number(lastNumber) } : undefined;
  }

  /** Notes that both Macs have reported the change at `place`, and all changes of this part before it. */
  #mark(member: string, guid: string, { part }: Item, place: number): void {
    this.#database.run(`UPDATE told SET macs = 3 WHERE ${OF_PART} AND place <= ?`, member, guid, part, place);
  }

  #itemsOf(member: string, stored: MacEvent): { readonly guid: string; readonly items: readonly Item[] } {
    const event = this.#reader.readIf(stored);
    if (event?.type !== 'message.updated' && event?.type !== 'message.removed') return { guid: '', items: [] };
    const guid = this.#guidOf(member, stored, event);
    if (event.type === 'message.removed') return { guid, items: [{ part: DELETION, value: 'removed', at: '' }] };
    return { guid, items: event.changes.map((name) => itemOf(name, event)) };
  }

  /**
   * Returns the guid under which clients know a message. The Mac that reported the change may use another guid. If the
   * change has no guid, because the message was removed, takes the guid from the event of the message's row, as long as
   * hub.db has that event.
   */
  #guidOf(member: string, { mac }: MacEvent, { data }: ChangeOfOne): string {
    const index = new EventIndex(this.#database);
    const row = data.guid === '' ? index.ofRow(mac, Number(splitId(data.id)?.id)) : undefined;
    const own = data.guid === '' ? guidIn(row && this.#reader.readIf(row)) : data.guid;
    const number = this.#database.number('SELECT number FROM known WHERE member = ? AND guid = ?', member, own) ?? 0;
    const [shown] = number === 0 ? [] : index.events(number - 1, number, 1);
    return guidIn(shown && this.#reader.readIf(shown)) || own;
  }
}

function guidIn(event: LogEntry['event'] | undefined): string {
  return event !== undefined && isRowEvent(event) ? event.data.guid : '';
}

function itemOf(name: string, { data, edited_at: editedAt = '' }: Updated): Item {
  const part = PARTS[name] ?? name;
  const at = part === 'content' ? editedAt : '';
  if (name !== 'edited') return { part, value: part === name ? '' : name, at };
  return { part, value: data.body === '' ? '' : createHash('sha256').update(data.body).digest('base64'), at };
}
