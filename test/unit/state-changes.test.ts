import { expect, test } from '@jest/globals';
import { CHANGE_NAMES } from '../../src/core/model/event.ts';
import { rowOffset } from '../../src/core/model/offset.ts';
import type { Change } from '../../src/core/model/ports/changes-ports.ts';
import { changeStore } from '../../src/core/state/changes-store.ts';
import { cursorStore } from '../../src/core/state/cursor-store.ts';
import { openStateDatabase } from '../../src/core/state/state-database.ts';
import { MemoryChangeStore } from '../support/changes/memory-change-store.ts';
import { isLong } from '../support/conditions.ts';
import { seededChance } from '../support/seed.ts';
import { temporaryFolder } from '../support/temporary.ts';

const folder = temporaryFolder();

test('the store does what the one of the simulation does', () => {
  const chance = seededChance('change store');
  const database = openStateDatabase(`${folder}/state.db`);
  const stored = { ...changeStore(database), ...cursorStore(database) };
  const memory = new MemoryChangeStore();
  const rowId = (): number => 1 + chance.below(3000);
  const prints = (): Map<number, number> =>
    new Map(Array.from({ length: chance.below(5) }, () => [rowId(), chance.in(0.3) ? 0 : chance.below(2 ** 32)]));
  const change = (): Change =>
    chance.of<Change>([
      { kind: 'updated', rowId: rowId(), changes: CHANGE_NAMES.filter(() => chance.in(0.3)) },
      { kind: 'removed', rowId: rowId(), guid: 'G', conversationId: 'any;-;1' },
      { kind: 'many', firstRowId: rowId(), lastRowId: rowId(), count: chance.below(5000) },
    ]);
  for (let step = 0; step < (isLong ? 400 : 150); step += 1) {
    const cursor = { offset: rowOffset(rowId()), guid: 'G', inode: '1' };
    const given = { prints: prints(), changes: Array.from({ length: chance.below(4) }, change), step, cursor };
    const apply = chance.of<(store: MemoryChangeStore | typeof stored) => void>([
      (store) => store.record(given.changes, given.prints, given.step),
      (store) => store.record(given.changes, given.prints, given.step),
      (store) => store.record([], given.prints, given.step),
      (store) => store.save(given.cursor, given.prints),
      (store) => store.save(given.cursor, given.prints, given.changes, given.step),
      (store) => store.noteAsked(given.step),
      (store) => store.noteSwept(given.step),
      (store) => (given.step % 8 === 0 ? store.begin(given.step, given.prints) : undefined),
      (store) => (given.step % 8 === 1 ? store.end() : undefined),
      (store) => (given.step % 8 === 2 ? store.restart(given.cursor, given.prints) : undefined),
    ]);
    apply(stored);
    apply(memory);
    for (const read of [
      (store: MemoryChangeStore | typeof stored) => store.state(),
      (store: MemoryChangeStore | typeof stored) => [store.generation(), store.newest(), store.floor()],
      (store: MemoryChangeStore | typeof stored) => store.changes(store.floor(), Number.MAX_SAFE_INTEGER, 1000),
      (store: MemoryChangeStore | typeof stored) =>
        [0, 1, 2, 3].map((block) => [store.prints(block), store.nextBlock(block)]),
      (store: MemoryChangeStore | typeof stored) => store.load(),
    ]) {
      expect(read(stored)).toEqual(read(memory));
    }
  }
  database.close();
});

test('changes older than 30 days are forgotten, and those beyond 100,000', () => {
  const database = openStateDatabase(`${folder}/old.db`);
  const store = changeStore(database);
  const removed = (rowId: number): Change => ({ kind: 'removed', rowId, guid: '', conversationId: '' });
  const day = 24 * 60 * 60 * 1000;
  store.begin(0, new Map());
  store.record([removed(1), removed(2)], new Map(), day);
  store.record([removed(3)], new Map(), 32 * day);
  expect(store.floor()).toBe(2);
  store.record(
    Array.from({ length: 100_001 }, (_, at) => removed(at)),
    new Map(),
    32 * day,
  );
  expect([store.floor(), store.newest()]).toEqual([4, 100_004]);
  store.noteSwept(70 * day);
  expect(store.floor()).toBeGreaterThan(4);
  database.close();
});

test('a row that is published keeps the print whose changes are not reported yet', () => {
  const database = openStateDatabase(`${folder}/first-prints.db`);
  const changes = changeStore(database);
  changes.begin(0, new Map([[5, 111]]));
  const cursor = { offset: rowOffset(6), guid: 'G', inode: '1' };
  cursorStore(database).save(
    cursor,
    new Map([
      [5, 222],
      [6, 333],
    ]),
  );
  expect([...(changes.prints(0)?.slice(5, 8) ?? [])]).toEqual([111, 333, 0]);
  database.close();
});

test('the prints of rows survive a restart', () => {
  const database = openStateDatabase(`${folder}/restarted.db`);
  changeStore(database).begin(0, new Map([[5, 111]]));
  expect(changeStore(database).prints(0)?.[5]).toBe(111);
  database.close();
});
