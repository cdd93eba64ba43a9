import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { rowOffset } from '../../src/core/model/offset.ts';
import type { NewSentPart } from '../../src/core/model/ports/sent-parts-ports.ts';
import { cursorStore } from '../../src/core/state/cursor-store.ts';
import { sentPartStore } from '../../src/core/state/sent-parts-store.ts';
import { openStateDatabase } from '../../src/core/state/state-database.ts';
import { extractState, writeBackup } from '../../src/features/backup/backup-file.ts';
import { temporaryFolder } from '../support/temporary.ts';

const folder = temporaryFolder();
const DAY = 24 * 60 * 60 * 1000;
let files = 0;

function open() {
  files += 1;
  const path = join(folder, `state-${files}.db`);
  const database = openStateDatabase(path);
  return { path, database, store: sentPartStore(database) };
}

const part = (columns: Partial<NewSentPart> = {}): NewSentPart => ({
  atMs: 0,
  requestId: 'r',
  idempotencyKey: undefined,
  afterRowId: 10,
  chat: 'any',
  content: 'c',
  ...columns,
});

describe('a sent part', () => {
  test('is open until it has its row, is removed or given up, and survives the process', () => {
    const { path, database, store } = open();
    const [paired, removed, givenUp, kept] = Array.from({ length: 4 }, () => store.record(part())) as [
      number,
      number,
      number,
      number,
    ];
    store.pair(paired, 11, 'A');
    store.remove(removed);
    store.giveUp(givenUp, 20);
    store.setChat(kept, { address: '-;+15550100' });
    database.close();
    const later = sentPartStore(openStateDatabase(path));
    const chat = { address: '-;+15550100' };
    expect(later.open()).toEqual([{ number: kept, atMs: 0, afterRowId: 10, chat, content: 'c' }]);
    expect(later.ofRow(11)).toEqual({ guid: 'A', requestId: 'r', idempotencyKey: undefined });
    expect(later.ofRow(12)).toBeUndefined();
    expect(later.unpaired(11)).toHaveLength(2);
    expect(later.unpaired(10)).toEqual([]);
    expect(later.unpaired(11, ['other'])).toEqual([]);
  });

  test('in doubt keeps its row for a repeated request, and leaves the origins of rows like it open', () => {
    const { store } = open();
    const idempotencyKey = { kind: 'scheduled', key: 's' } as const;
    const number = store.record(part({ atMs: 7, idempotencyKey }));
    expect(store.part(number)).toEqual({ atMs: 7, rowId: undefined });
    store.giveUp(store.record(part({ idempotencyKey })), 99);
    store.pair(number, 11, 'A');
    expect([store.part(number)?.rowId, store.unpaired(12, ['c']).length]).toEqual([11, 1]);
    store.doubt(number);
    store.doubt(number);
    expect([store.part(number)?.rowId, store.rowsOf(idempotencyKey), store.ofRow(11)]).toEqual([11, [11], undefined]);
    expect([store.unpaired(11, ['c']).length, store.unpaired(12, ['c']).length]).toEqual([2, 2]);
    expect(store.part(number + 2)).toBeUndefined();
  });

  test('never shares its row with another one', () => {
    const { store } = open();
    const [one, two] = [store.record(part()), store.record(part())];
    store.pair(one, 11, 'A');
    expect(() => store.pair(two, 11, 'A')).toThrow(/UNIQUE/);
  });

  test("names the client's key, and none of Postern's own", () => {
    const { database, store } = open();
    const keys = [{ kind: 'client', key: 'k' }, { kind: 'approval', key: 'a' }, undefined] as const;
    for (const [index, idempotencyKey] of keys.entries()) store.pair(store.record(part({ idempotencyKey })), index, '');
    expect(keys.map((_key, index) => store.ofRow(index)?.idempotencyKey)).toEqual(['k', undefined, undefined]);
    expect(database.prepare('SELECT idempotency_key FROM sent_part').all().flat()).toEqual([
      'k',
      '\0approval\0a',
      null,
    ]);
  });

  test('is forgotten after 30 days, after which rows up to its own have an unknown origin', () => {
    const { store } = open();
    store.begin(5);
    store.pair(store.record(part({ atMs: 0 })), 11, 'A');
    store.giveUp(store.record(part({ atMs: 1 })), 20);
    store.pair(store.record(part({ atMs: DAY, afterRowId: 20 })), 21, 'B');
    store.record(part({ atMs: 30 * DAY + 2, afterRowId: 30 }));
    expect([store.ofRow(11), store.ofRow(21)?.guid, store.completeSince()]).toEqual([undefined, 'B', 20]);
  });

  test('belongs to one chat.db: a replaced one begins again, a first start does not', () => {
    const { database, store } = open();
    store.begin(5);
    store.pair(store.record(part()), 11, 'A');
    const cursors = cursorStore(database);
    cursors.restart({ offset: rowOffset(12), guid: 'N', inode: '1' });
    expect([store.ofRow(11)?.guid, store.completeSince()]).toEqual(['A', 5]);
    cursors.restart({ offset: rowOffset(3), guid: 'M', inode: '2' });
    expect([store.ofRow(11), store.completeSince()]).toEqual([undefined, 3]);
  });

  test('that was sent after a backup is not in it: then recording begins with the next start', () => {
    const { path, store } = open();
    store.begin(5);
    store.pair(store.record(part()), 11, 'A');
    const [backup, restored] = [join(folder, 'backup.db'), join(folder, 'restored.db')];
    writeBackup(path, backup, { version: '1', createdAt: '2026-01-01T00:00:00Z', config: '' });
    extractState(backup, restored, 0);
    const after = sentPartStore(openStateDatabase(restored));
    expect([after.ofRow(11)?.guid, after.completeSince()]).toEqual(['A', undefined]);
  });
});
