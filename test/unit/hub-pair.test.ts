import { join } from 'node:path';
import { afterAll, expect, test } from '@jest/globals';
import { nameOfOne } from '../../src/core/model/fleet.ts';
import { decodeOffset, type StreamOffset } from '../../src/core/model/offset.ts';
import { EventReader } from '../../src/features/fleet/hub/event-reader.ts';
import { EventStore } from '../../src/features/fleet/hub/event-store.ts';
import { type HubDatabase, openHubDatabase } from '../../src/features/fleet/hub/hub-database.ts';
import { Offsets } from '../../src/features/fleet/hub/offsets.ts';
import { PairCopies } from '../../src/features/fleet/hub/pair-copies.ts';
import { Pairs } from '../../src/features/fleet/hub/pairs.ts';
import type { ReceivedEvent, StoredEvent } from '../../src/features/fleet/hub/stored-event.ts';
import { Envelope } from '../../src/features/fleet/protocol/envelope.ts';
import { temporaryFolder } from '../support/temporary.ts';

const folder = temporaryFolder();
const MADE = '2026-01-01T00:00:00.5Z';
const HOUR_MS = 3_600_000;
const NOW_MS = Date.UTC(2026, 0, 2, 12);
const PAIR = { mac: 'm1', standby: 'm2', sinceMs: NOW_MS - HOUR_MS };
const made: { close(): void }[] = [];
afterAll(() => {
  for (const database of made) database.close();
});

/** A hub's copy of the stream, whose Macs are a pair. */
class PairedStore {
  readonly store: EventStore;
  readonly offsets: Offsets;
  readonly pairs: Pairs;
  readonly copies: PairCopies;
  readonly database: HubDatabase;
  #sequence = 0;
  readonly #rows = new Map<string, number>();

  readonly #name: string;

  constructor(name: string, isPaired = true) {
    this.#name = name;
    const database = openHubDatabase(join(folder, name));
    made.push(database);
    this.database = database;
    this.pairs = new Pairs(database);
    const reader = new EventReader(new Envelope(), (mac) => this.pairs.nameOf(mac));
    this.copies = new PairCopies(database, this.pairs, reader);
    this.store = new EventStore(database, this.copies);
    this.offsets = new Offsets(this.store, 24);
    if (isPaired) this.pair();
  }

  /** Makes the two Macs a pair, and merges what they have published. */
  pair(): void {
    this.pairs.add(PAIR);
    while (this.store.mergeStep());
  }

  /** Returns the same hub after a kill. */
  reopened(): PairedStore {
    const hub = new PairedStore(this.#name, false);
    hub.#sequence = this.#sequence;
    for (const [mac, row] of this.#rows) hub.#rows.set(mac, row);
    return hub;
  }

  /** Adds the next message of the stream. Returns the numbers that the hub assigned. */
  receive(mac: string, guid: string, { writtenMs = NOW_MS, atMs = NOW_MS, body = guid, skipped = 0 } = {}): number[] {
    const previousRow = (this.#rows.get(mac) ?? 0) + skipped;
    const row = previousRow + 1;
    this.#rows.set(mac, row);
    this.#sequence += 1;
    const { id: messageId, event } = eventOf(mac, guid, row, writtenMs, body);
    const place = { sequence: this.#sequence, messageId, atMs };
    const from = { mac, epoch: 'e', row, previousRow, previousSequence: 0, type: 'message.received' };
    const received: ReceivedEvent = { ...from, ...place, ...event };
    return this.store.add([received], { stream: MADE, ...place }, NOW_MS).map(({ number }) => number);
  }

  /** Supplies the rows of the open hole. */
  fill(guids: readonly string[]): StoredEvent[] {
    const [hole] = this.store.waitingQueues().flatMap((queue) => this.store.hole(queue) ?? []);
    if (hole === undefined) throw new Error('there is no hole');
    const rows = guids.map((guid, place) => {
      const row = hole.after + place + 1;
      const { id: messageId, event } = eventOf(hole.mac, guid, row, NOW_MS, guid);
      return { row, type: 'message.received', messageId, ...event };
    });
    return [...this.store.fill(hole, rows, hole.last)];
  }

  guids(): string[] {
    return this.store.index.events(0, 99, 99).map((event) => (JSON.parse(String(event.body)) as Body).data.guid);
  }

  /** Returns the numbers that follow another hub's offset for a place of the stream. */
  after(sequence: number, mac: string, guid: string, more: Partial<StreamOffset> = {}): number {
    return this.offsets.numberOf({
      ...{ stream: MADE, sequence, messageId: `${mac}-${guid}`, atMs: NOW_MS, copy: '0123abcd', ...more },
    });
  }
}

interface Body {
  readonly data: { readonly guid: string };
}

function eventOf(mac: string, guid: string, row: number, writtenMs: number, text: string) {
  const timestamp = new Date(writtenMs).toISOString().replace(/\.\d+/, '');
  const data = {
    ...{ id: String(row), guid, conversation_id: `${mac === 'm1' ? 'any' : 'iMessage'};-;+15550100`, body: text },
    ...{ sender: '+15550100', attachments: [], timestamp, is_from_me: false, status: 'delivered' },
  };
  const body = Buffer.from(JSON.stringify({ type: 'message.received', data }));
  return { id: `${mac}-${guid}`, event: { keyId: null, body } };
}

test('the copy of the other Mac of a pair gets no number, in whatever order and however late it comes', () => {
  const hub = new PairedStore('order.db');
  expect([hub.receive('m1', 'A'), hub.receive('m2', 'B'), hub.receive('m1', 'C')]).toEqual([[1], [2], [3]]);
  expect([hub.receive('m2', 'C'), hub.receive('m1', 'B'), hub.receive('m2', 'A')]).toEqual([[], [], []]);
  expect(hub.receive('m2', 'D', { writtenMs: NOW_MS - HOUR_MS, atMs: NOW_MS })).toEqual([4]);
  expect(hub.guids()).toEqual(['A', 'B', 'C', 'D']);
  const other = hub.receive('m3', 'A');
  expect(other).toEqual([5]);
});

test('a copy comes again after its event was cut from hub.db', () => {
  const hub = new PairedStore('cut.db');
  hub.receive('m1', 'A');
  hub.receive('m1', 'B', { atMs: NOW_MS + 9 * 24 * HOUR_MS });
  hub.store.cut(NOW_MS + HOUR_MS, MADE, 0);
  expect(hub.guids()).toEqual(['B']);
  expect(hub.receive('m2', 'A', { atMs: NOW_MS + 9 * 24 * HOUR_MS })).toEqual([]);
});

test('an old message to which iCloud gave another guid comes once, and two equal ones stay two', () => {
  const hub = new PairedStore('renamed.db');
  const old = { writtenMs: NOW_MS - HOUR_MS, body: 'ok' };
  expect([hub.receive('m1', 'A1', old), hub.receive('m1', 'A2', old)]).toEqual([[1], [2]]);
  expect([hub.receive('m2', 'X1', old), hub.receive('m2', 'X2', old)]).toEqual([[], []]);
  expect(hub.receive('m2', 'X3', old)).toEqual([3]);
  // It stays known under the other guid.
  expect(hub.receive('m1', 'X1', old)).toEqual([]);
  // Two new messages of one second stay separate.
  expect([hub.receive('m1', 'N1', { body: 'yes' }), hub.receive('m2', 'N2', { body: 'yes' })]).toEqual([[4], [5]]);
  // Without a text nothing can be compared.
  const unknown = { writtenMs: NOW_MS - HOUR_MS, body: '' };
  expect([hub.receive('m1', 'E1', unknown), hub.receive('m2', 'E2', unknown)]).toEqual([[6], [7]]);
});

test('a late message is not taken for one of equal text that the other Mac showed live', () => {
  const hub = new PairedStore('live.db');
  const writtenMs = NOW_MS - HOUR_MS;
  expect(hub.receive('m1', 'A1', { writtenMs, atMs: writtenMs, body: 'ok' })).toEqual([1]);
  expect(hub.receive('m2', 'A2', { writtenMs, body: 'ok' })).toEqual([2]);
  expect([hub.receive('m2', 'A1', { writtenMs, body: 'ok' }), hub.receive('m1', 'A2', { writtenMs })]).toEqual([
    [],
    [],
  ]);
});

test('history that iCloud brings to a new standby is published', () => {
  const hub = new PairedStore('history.db');
  const years = { writtenMs: NOW_MS - 1000 * 24 * HOUR_MS };
  expect([hub.receive('m2', 'old', years), hub.receive('m1', 'older', years)]).toEqual([[], [1]]);
});

test('what waits behind a hole of one Mac comes from the other, and not again when the hole closes', () => {
  const hub = new PairedStore('hole.db');
  hub.receive('m1', 'A');
  expect(hub.receive('m1', 'C', { skipped: 1 })).toEqual([]);
  expect([hub.receive('m2', 'B'), hub.receive('m2', 'C')]).toEqual([[2], [3]]);
  expect(hub.fill(['B'])).toEqual([]);
  expect(hub.receive('m1', 'D')).toEqual([4]);
  expect(hub.guids()).toEqual(['A', 'B', 'C', 'D']);
});

test('an offset of a hub that published the other copy continues exactly there', () => {
  const hub = new PairedStore('places.db');
  for (const guid of ['A', 'B', 'C']) hub.receive('m1', guid);
  for (const guid of ['A', 'B', 'C']) hub.receive('m2', guid);
  hub.receive('m1', 'D');
  // Sequence 5 is the copy of B: a client that received it there has everything up to it.
  expect(hub.after(5, 'm2', 'B')).toBe(3);
  expect(hub.after(2, 'm1', 'B')).toBe(2);
  expect(hub.after(7, 'm1', 'D')).toBe(4);
  // What that hub had still missed comes again.
  expect(hub.after(5, 'm2', 'B', { floor: 1 })).toBe(1);
});

test('two Macs that published before they were a pair show each message once', () => {
  const hub = new PairedStore('before.db', false);
  expect([hub.receive('m1', 'A'), hub.receive('m2', 'A'), hub.receive('m2', 'B')]).toEqual([[1], [2], [3]]);
  const offset = decodeOffset(hub.offsets.textOf(2)) as StreamOffset;
  hub.pair();
  expect(hub.guids()).toEqual(['A', 'B']);
  // A client that had the copy, and nothing after it.
  expect(hub.offsets.numberOf(offset)).toBe(1);
  expect(hub.receive('m1', 'B')).toEqual([]);
  expect(hub.receive('m1', 'C')).toEqual([4]);
});

test('a hub that is killed while a pair is made publishes no message twice', () => {
  const before = new PairedStore('killed.db', false);
  for (let number = 0; number < 600; number += 1) before.receive('m1', `A${number}`);
  before.pairs.add(PAIR);
  expect(before.store.mergeStep()).toBe(true);
  const after = before.reopened();
  // An event that arrives before the merge has ended waits.
  expect([after.receive('m2', 'A1'), after.receive('m2', 'A599'), after.receive('m1', 'B')]).toEqual([[], [], []]);
  expect(after.store.release('m2')).toBeUndefined();
  while (after.store.mergeStep());
  expect(after.store.release('m2')).toEqual([]);
  expect(after.store.release('m1')).toMatchObject([{ row: 601 }]);
  expect(after.store.newest).toBe(601);
  expect(after.reopened().store.mergeStep()).toBe(false);
});

test('events of other Macs continue while a pair is made', () => {
  const hub = new PairedStore('others.db', false);
  hub.receive('m1', 'A');
  hub.pairs.add(PAIR);
  expect([hub.receive('m1', 'B'), hub.receive('m3', 'C')]).toEqual([[], [2]]);
});

test('a pair is forgotten when the hub starts again, or joined by a third Mac', () => {
  const hub = new PairedStore('kept.db');
  expect(hub.pairs.add({ ...PAIR, mac: 'm3' })).toBe(false);
  const database = openHubDatabase(join(folder, 'kept.db'));
  made.push(database);
  const kept = new Pairs(database);
  expect(kept.nameOf('m2')).toEqual({ mac: 'm2', member: 'm1', isPair: true });
  expect(kept.nameOf('m3')).toEqual(nameOfOne('m3'));
  kept.end('m1');
  expect(new Pairs(database).nameOf('m2')).toEqual(nameOfOne('m2'));
});

test('a pair is still merging if the transaction that ends the merging cannot be committed', () => {
  const hub = new PairedStore('commit.db', false);
  hub.receive('m1', 'A');
  hub.pairs.add(PAIR);
  const sql = [
    'PRAGMA foreign_keys = ON',
    'CREATE TABLE sand (grain REFERENCES pair (mac) DEFERRABLE INITIALLY DEFERRED)',
    "CREATE TRIGGER fails AFTER UPDATE ON pair WHEN new.merged_to IS NULL BEGIN INSERT INTO sand VALUES ('none'); END",
  ];
  for (const one of sql) hub.database.run(one);
  const merge = (): void => {
    while (hub.store.mergeStep());
  };
  expect(merge).toThrow('FOREIGN KEY');
  expect([hub.pairs.isMerging('m2'), hub.pairs.merging?.mac]).toEqual([true, 'm1']);
  hub.database.run('DROP TRIGGER fails');
  merge();
  expect([hub.pairs.isMerging('m2'), hub.pairs.merging]).toEqual([false, undefined]);
});

test('a pair that cannot be read for a moment is still a pair', () => {
  const hub = new PairedStore('unread.db', false);
  const unaware = new Pairs(hub.database);
  hub.pair();
  hub.receive('m1', 'A');
  const tables = ['pair', 'position'];
  for (const table of tables) hub.database.run(`ALTER TABLE ${table} RENAME TO ${table}_away`);
  expect(() => hub.receive('m1', 'B')).toThrow('no such table: position');
  for (const table of tables) hub.database.run(`ALTER TABLE ${table}_away RENAME TO ${table}`);
  expect(hub.pairs.of('m2')).toMatchObject(PAIR);
  expect([hub.receive('m2', 'A'), hub.receive('m2', 'B')]).toEqual([[], [2]]);
  // The pair was stored, but not read afterwards.
  expect([unaware.add(PAIR), unaware.nameOf('m2')]).toEqual([true, hub.pairs.nameOf('m2')]);
});
