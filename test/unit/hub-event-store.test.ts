import { existsSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, expect, test } from '@jest/globals';
import { encodeStreamOffset, type StreamOffset } from '../../src/core/model/offset.ts';
import { EventStore } from '../../src/features/fleet/hub/event-store.ts';
import { openHubDatabase } from '../../src/features/fleet/hub/hub-database.ts';
import { Offsets } from '../../src/features/fleet/hub/offsets.ts';
import type { ReceivedEvent } from '../../src/features/fleet/hub/stored-event.ts';
import { temporaryFolder } from '../support/temporary.ts';

const folder = temporaryFolder();
const MADE = '2026-01-01T00:00:00.5Z';
const made: { close(): void }[] = [];
afterAll(() => {
  for (const database of made) database.close();
});

function storeAt(name: string): EventStore {
  const database = openHubDatabase(join(folder, name));
  made.push(database);
  return new EventStore(database);
}

/** Returns the event of a row: row 1 of a Mac is message 1, and so on, a second apart. */
function event(row: number, mac = 'm1'): ReceivedEvent {
  const body = Buffer.from(`${row}`);
  const place = { sequence: row, messageId: `${mac}-${row}`, atMs: row * 1000 };
  const previous = { previousRow: row - 1, previousSequence: row - 1 };
  return { mac, epoch: 'e', row, ...previous, type: 'message.received', keyId: null, body, ...place };
}

const rows = (...numbers: readonly number[]): ReceivedEvent[] => numbers.map((row) => event(row));
const offset = (sequence: number): StreamOffset => ({
  stream: MADE,
  sequence,
  messageId: `m1-${sequence}`,
  atMs: sequence * 1000,
});

test('keeps what the stream keeps, and refuses an offset behind which something is gone', () => {
  const store = storeAt('cut.db');
  store.add(rows(1, 2, 3, 4, 5, 6), offset(6), 0);
  const offsets = new Offsets(store, 24);
  expect(store.cut(3000, MADE, 0)).toBe(false);
  expect(store.index.events(0, 99, 99).map(({ row }) => row)).toEqual([3, 4, 5, 6]);
  store.cut(0, MADE, 5);
  expect(store.index.events(0, 99, 99).map(({ row }) => row)).toEqual([5, 6]);
  expect(offsets.numberOf(offset(5))).toBe(5);
  // Everything after it is there.
  expect(offsets.numberOf(offset(4))).toBe(4);
  expect(() => offsets.numberOf(offset(3))).toThrow(expect.objectContaining({ code: 'offset_expired', status: 410 }));
  store.cut(99_000, MADE, 99);
  expect(store.index.events(0, 99, 99).map(({ row }) => row)).toEqual([6]);
  // A number is never used twice, and a row that was cut is not taken for a new one.
  expect(store.add(rows(2, 7), offset(7), 0).map(({ number, row }) => [number, row])).toEqual([[7, 7]]);
});

test('a batch that cannot be stored leaves nothing', () => {
  const store = storeAt('batch.db');
  store.add(rows(1), offset(1), 0);
  const broken = { ...event(3), body: undefined as unknown as Uint8Array };
  expect(() => store.add([event(2), event(1, 'm2'), broken], offset(3), 0)).toThrow();
  expect([store.newest, store.lastRow('m1', 'e'), store.lastRow('m2', 'e'), store.position?.sequence]).toEqual([
    1,
    1,
    undefined,
    1,
  ]);
  expect(store.add([event(2), event(1, 'm2')], offset(3), 0).map(({ number }) => number)).toEqual([2, 3]);
});

test('a file that is damaged or of another version is made again, for this user alone', () => {
  const path = join(folder, 'damaged.db');
  writeFileSync(path, 'no database '.repeat(1000));
  const database = openHubDatabase(path);
  made.push(database);
  expect(new EventStore(database).newest).toBe(0);
  expect(statSync(path).mode & 0o777).toBe(0o600);
  expect(existsSync(`${path}-wal`)).toBe(true);
});

test('an unknown offset of a hub that waited for rows goes back to before them', () => {
  const store = storeAt('floor.db');
  // m2's rows come second: the other hub waited for them, and its offset names a place that is unknown here.
  const all = [...rows(1, 2), { ...event(1, 'm2'), sequence: 3, messageId: 'm2-1' }, { ...event(3), sequence: 4 }];
  store.add(
    all.map((one) => ({ ...one, atMs: 1_000_000 })),
    offset(4),
    0,
  );
  const filled = { ...offset(9), messageId: 'm1-3', atMs: 2_000_000, copy: '00000000' };
  expect(new Offsets(store, 24).numberOf({ ...filled, floor: 2 })).toBe(2);
});

test('an offset has one text, prepared with its event or looked up', () => {
  const store = storeAt('texts.db');
  const offsets = new Offsets(store, 24);
  // m1 waits for its row 2, so the offset of m2's event names a floor.
  const other = { ...event(1, 'm2'), previousRow: 0, sequence: 4 };
  const published = store.add([event(1), { ...event(3), previousRow: 2 }, other], offset(4), 0);
  expect(published.map(({ mac, floor }) => [mac, floor])).toEqual([
    ['m1', undefined],
    ['m2', 1],
  ]);
  for (const one of published) {
    offsets.prepare(one);
    expect(offsets.textOf(one.number)).toBe(new Offsets(store, 24).textOf(one.number));
  }
});

test('a Mac’s events stop waiting in steps, in its order over all epochs, and keep no other Mac’s waiting', () => {
  const store = storeAt('queue.db');
  const ofMac = (row: number, previousRow: number, epoch = 'e'): ReceivedEvent => {
    sequence += 1;
    const place = { sequence, messageId: `m1-${epoch}-${row}`, atMs: sequence };
    return { ...event(row), epoch, previousRow, ...place };
  };
  let sequence = 1;
  const add = (...events: ReceivedEvent[]) => store.add(events, offset(sequence), 0);
  add(event(1));
  // Rows 2 to 9 are missing, then rows 310 to 319, then those before the next epoch's first.
  add(ofMac(10, 9), ...Array.from({ length: 299 }, (_, place) => ofMac(place + 11, place + 10)));
  add(ofMac(320, 319), ofMac(5, 4, 'f'));
  expect(add({ ...event(1, 'm2'), sequence: sequence + 1 })).toMatchObject([{ mac: 'm2', floor: 1 }]);
  const holes: unknown[] = [];
  const shown: string[] = [];
  for (let hole = store.hole('m1'); hole !== undefined; hole = store.hole('m1')) {
    holes.push([hole.epoch, hole.after, hole.last, store.holes('m1')]);
    let some: readonly { readonly messageId: string }[] | undefined = store.giveUp(hole, 0);
    for (; some !== undefined; some = store.release('m1')) {
      expect(some.length).toBeLessThanOrEqual(256);
      shown.push(...some.map(({ messageId }) => messageId));
    }
  }
  expect(holes).toEqual([
    ['e', 1, 9, 3],
    ['e', 309, 319, 2],
    ['f', 4, 4, 1],
  ]);
  const all = [...Array.from({ length: 300 }, (_, place) => `m1-e-${place + 10}`), 'm1-e-320', 'm1-f-5'];
  expect(shown).toEqual(all);
  expect([store.waitingQueues(), store.index.events(0, 9999, 9999).length]).toEqual([[], 304]);
});

test('hands on the offsets of other hubs as long as their events may be kept, unless nothing is repeated', () => {
  const store = storeAt('others.db');
  store.add(rows(1, 2, 3), offset(3), 0);
  const offsets = new Offsets(store, 24);
  const at = (sequence: number, copy: string) => ({ ...offset(sequence), copy });
  const others = [at(1, 'bbbbbbbb')];
  expect(offsets.positionOf(at(2, 'aaaaaaaa'), false)).toEqual({ rowId: 2, change: 0 });
  expect(offsets.positionOf(at(2, store.copy), false)).toEqual({ rowId: 2, change: 0 });
  // The client may return to the other hub at any time, even if it has stayed here for a while.
  expect(offsets.positionOf({ ...at(2, store.copy), others }, false)).toEqual({ rowId: 2, change: 0, others });
  expect(offsets.positionOf({ ...at(2, 'aaaaaaaa'), others }, false)).toEqual({
    ...{ rowId: 2, change: 0 },
    others: [{ ...at(2, 'aaaaaaaa'), others }, ...others],
  });
  // This hub had already handed out everything up to row 3.
  expect(offsets.positionOf({ ...at(2, 'aaaaaaaa'), others: [at(3, store.copy)] }, false).rowId).toBe(3);
  // Nor does it repeat what came long after that, for an offset that it does not know.
  const later = rows(100_000, 100_001).map((row) => ({ ...row, previousRow: row.row === 100_000 ? 3 : 100_000 }));
  store.add(later, offset(100_001), 0);
  const unknown = { ...at(100_001, 'aaaaaaaa'), messageId: 'lost', others: [at(1, store.copy), ...others] };
  expect(offsets.positionOf(unknown, false).rowId).toBe(3);
  // All hubs have deleted the events of the first others.
  store.cut(90_000_000, MADE, 0);
  expect(offsets.positionOf({ ...at(100_001, store.copy), others }, false)).toEqual({ rowId: 5, change: 0 });
});

test('an empty hub leaves a client its offset of another hub', () => {
  const store = storeAt('empty.db');
  const offsets = new Offsets(store, 24);
  const others = [{ ...offset(1), copy: 'bbbbbbbb' }];
  const foreign = { ...offset(2), copy: 'aaaaaaaa', floor: 1, others };
  const { rowId, others: handedOn } = offsets.positionOf(foreign, true);
  expect(rowId).toBe(0);
  expect(offsets.textOf(rowId, handedOn)).toBe(encodeStreamOffset(foreign));
  expect(offsets.textOf(0)).toBe('0');
});

test('an offset of a hub that still waits for rows is refused after this hub gave them up', () => {
  const store = storeAt('given-up.db');
  store.add([event(1), { ...event(4), previousRow: 3 }], offset(4), 0);
  const hole = store.hole('m1');
  if (hole === undefined) throw new Error('nothing waits');
  expect(store.giveUp(hole, 0)).toMatchObject([{ number: 3, row: 4 }]);
  expect(store.add([{ ...event(1, 'm2'), sequence: 5, atMs: 5000 }], offset(5), 0)).toMatchObject([{ number: 4 }]);
  const waiting = { ...offset(5), messageId: 'm2-1', copy: 'bbbbbbbb', floor: 1 };
  const offsets = new Offsets(store, 24);
  expect(offsets.numberOf(waiting)).toBe(1);
  for (const one of [waiting, { ...waiting, messageId: 'm2-2' }]) {
    expect(() => offsets.assertComplete(one, false)).toThrow(expect.objectContaining({ code: 'offset_expired' }));
  }
});
