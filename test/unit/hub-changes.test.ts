import { join } from 'node:path';
import { afterAll, expect, test } from '@jest/globals';
import { decodeOffset, type StreamOffset } from '../../src/core/model/offset.ts';
import { EventStore } from '../../src/features/fleet/hub/event-store.ts';
import { openHubDatabase } from '../../src/features/fleet/hub/hub-database.ts';
import { Offsets } from '../../src/features/fleet/hub/offsets.ts';
import type { ReceivedEvent, StoredEvent } from '../../src/features/fleet/hub/stored-event.ts';
import { changesOf } from '../../src/features/fleet/hub/waiting-table.ts';
import { CHAIN_START, changesEpoch } from '../../src/features/fleet/protocol/event-message.ts';
import { temporaryFolder } from '../support/temporary.ts';

const folder = temporaryFolder();
const MADE = '2026-01-01T00:00:00.5Z';
const HOUR_MS = 3_600_000;
const QUEUE = changesOf('m1');
const EXPIRED = expect.objectContaining({ code: 'offset_expired', status: 410 });
const made: { close(): void }[] = [];
afterAll(() => {
  for (const database of made) database.close();
});

/** A hub's copy of a stream that the test invents. */
class Copy {
  readonly store: EventStore;
  readonly offsets: Offsets;
  #sequence = 0;

  constructor(name: string) {
    const database = openHubDatabase(join(folder, name));
    made.push(database);
    this.store = new EventStore(database);
    this.offsets = new Offsets(this.store, 24);
  }

  row(row: number, { mac = 'm1', previousRow = row - 1, atMs = 0 } = {}): readonly StoredEvent[] {
    return this.#add({ mac, row, previousRow, epoch: 'e', type: 'message.received' }, atMs);
  }

  change(row: number, { previousRow = row - 1, atMs = 0, log = 1 } = {}): readonly StoredEvent[] {
    return this.#add({ mac: 'm1', row, previousRow, epoch: changesEpoch(log, 'e'), type: 'message.updated' }, atMs);
  }

  begin(row: number, { atMs = 0, log = 1 } = {}): readonly StoredEvent[] {
    return this.#add({ mac: 'm1', row, previousRow: row, epoch: changesEpoch(log, 'e'), type: CHAIN_START }, atMs);
  }

  /** The newest offset, as a client has it. */
  get offset(): StreamOffset {
    return decodeOffset(this.offsets.textOf(this.store.newest)) as StreamOffset;
  }

  #add(
    given: Pick<ReceivedEvent, 'mac' | 'epoch' | 'row' | 'previousRow' | 'type'>,
    atMs: number,
  ): readonly StoredEvent[] {
    this.#sequence += 1;
    const { mac, epoch, row } = given;
    const place = { sequence: this.#sequence, messageId: `${mac}-${epoch}-${row}`, atMs: atMs + this.#sequence };
    const event = { ...given, ...place, previousSequence: this.#sequence - 1, keyId: null, body: Buffer.from('{}') };
    return this.store.add([event], { stream: MADE, ...place }, atMs);
  }
}

test('a chain of changes that begins ends offsets from before it at its own place, for readers of changes alone', () => {
  for (const name of ['first hub', 'second hub']) {
    const copy = new Copy(name);
    copy.row(1);
    const before = copy.offset;
    copy.begin(7);
    copy.change(8);
    const since = copy.offset;
    copy.row(2);
    // Another hub gave out the offsets.
    for (const [changes, copyId] of [false, true].flatMap(
      (one) =>
        [
          [one, copy.store.copy],
          [one, '00000000'],
        ] as const,
    )) {
      const check = (offset: StreamOffset) => copy.offsets.assertComplete({ ...offset, copy: copyId }, changes);
      if (changes) expect(() => check(before)).toThrow(EXPIRED);
      else check(before);
      check(since);
    }
    expect([1, 2, 3, 4].map((number) => copy.store.index.isOfChanges(number, number))).toEqual([
      ...[false, true, true, false],
    ]);
  }
});

test('a new hub of a refilled stream still refuses an older offset for its changes after a cut', () => {
  const copy = new Copy('refilled.db');
  const atMs = Date.parse(MADE);
  copy.begin(7, { atMs });
  copy.row(1, { atMs });
  const lost: StreamOffset = { stream: '2025-12-01T00:00:00Z', sequence: 9, messageId: 'x', atMs: atMs - HOUR_MS };
  expect(() => copy.offsets.assertComplete(lost, true)).toThrow(EXPIRED);
  copy.store.cut(0, MADE, 0);
  expect(() => copy.offsets.assertComplete(lost, true)).toThrow(EXPIRED);
  copy.offsets.assertComplete(lost, false);
  // The gap expires as an event does.
  copy.store.cut(atMs + 2, MADE, 0);
  expect(copy.store.index.hasGap(0, 9, true)).toBe(false);
});

test('a change waits for rows and changes before it, and neither a row nor an offset of rows waits for changes', () => {
  const copy = new Copy('waits.db');
  copy.row(1);
  copy.begin(0);
  // The stream lacks row 2.
  expect([copy.row(3, { previousRow: 2 }), copy.change(1)]).toEqual([[], []]);
  const [other] = copy.row(1, { mac: 'm2' });
  expect(other).toMatchObject({ floor: 1, changeFloor: undefined });
  expect(copy.store.hole(QUEUE)).toBeUndefined();
  const hole = copy.store.hole('m1');
  const filled = { row: 2, type: 'message.received', messageId: 'm1-e-2', keyId: null, body: Buffer.from('{}') };
  const rows = hole && copy.store.fill(hole, [filled], 2);
  expect(rows?.map(({ row }) => row)).toEqual([2, 3]);
  expect(copy.store.release(QUEUE)?.map(({ type }) => type)).toEqual(['message.updated']);
  // The stream lacks changes 2 and 3.
  expect(copy.change(4, { previousRow: 3 })).toEqual([]);
  const [row] = copy.row(4);
  expect(row).toMatchObject({ row: 4, floor: undefined });
  const floor = row?.changeFloor ?? 0;
  expect(floor).toBeLessThan(row?.sequence ?? 0);
  expect(copy.offset).toMatchObject({ floor: undefined, changeFloor: floor });
  // Another hub goes back for readers of changes, which may lack some, and for nobody else.
  const other2 = new Copy('waits-other.db');
  for (const step of [1, 2, 3, 4]) other2.row(step);
  const offset = { ...other2.offset, copy: '00000000', changeFloor: 2 };
  expect([other2.offsets.numberOf(offset), other2.offsets.numberOf(offset, true)]).toEqual([4, 2]);
});

test('a Mac whose changes begin again and again ends offsets four times an hour, then its changes wait', () => {
  const copy = new Copy('again.db');
  let log = 0;
  const begin = (atMs: number): number => {
    log += 1;
    copy.begin(1, { atMs, log });
    return copy.store.holes(QUEUE);
  };
  const times = [0, 1, 2, 3, 4, 5].map((place) => place * 10_000);
  expect(times.map(begin)).toEqual([0, 0, 0, 0, 1, 2]);
  expect(copy.change(2, { log, atMs: 60_000 })).toEqual([]);
  expect([copy.row(1), copy.row(1, { mac: 'm2' })].map(({ length }) => length)).toEqual([1, 1]);
  const hole = copy.store.hole(QUEUE);
  if (hole === undefined) throw new Error('nothing waits');
  expect(copy.store.giveUp(hole, 60_000)).toBeUndefined();
  expect(copy.store.giveUp(hole, HOUR_MS + 5000)).toEqual([]);
  expect(copy.store.holes(QUEUE)).toBe(1);
});

test('rows whose events were all deleted are still known when changes of the Mac are kept', () => {
  const copy = new Copy('deleted.db');
  copy.row(1);
  copy.begin(0);
  copy.change(1, { atMs: 10_000 });
  copy.store.cut(5000, MADE, 0);
  expect(copy.store.index.events(0, 9, 9).map(({ type }) => type)).toEqual(['message.updated']);
  expect(copy.row(2, { atMs: 10_000 })).toHaveLength(1);
  expect(copy.store.lastRow('m1', 'e')).toBe(2);
  expect(copy.store.waitingQueues()).toEqual([]);
});
