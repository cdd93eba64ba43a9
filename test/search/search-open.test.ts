import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import type { AssociatedRows } from '../../src/core/model/associated-rows.ts';
import { openSqlite } from '../../src/core/runtime/sqlite.ts';
import { openIndex } from '../../src/features/search/index/index-database.ts';
import { openSearch } from '../../src/features/search/index/open-search.ts';
import type { SearchQuery } from '../../src/features/search/types.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { collectingLog } from '../support/log.ts';
import { MemoryLog } from '../support/memory-log.ts';
import { temporaryFolder } from '../support/temporary.ts';

const EVERYTHING: SearchQuery = { terms: [], excluded: [], senders: [], conversations: [], hasAttachment: false };

const folder = temporaryFolder();

const nothing = (): never => {
  throw new Error('nothing is read or written');
};
const parts = (path: string) => ({
  path,
  source: { listed: nothing, messages: nothing, count: nothing },
  work: { find: nothing, add: nothing, put: nothing, advance: nothing, merge: nothing },
  feed: { lastPublished: nothing, changeGeneration: nothing, resolve: nothing, consume: nothing },
  messages: new MemoryLog(),
  clock: new FakeClock(),
  log: collectingLog(),
});

test('search that is switched off says what to set, and leaves no file', async () => {
  const path = join(folder, 'search.db');
  const files = [path, `${path}-wal`, `${path}-shm`];
  for (const file of files) writeFileSync(file, 'words');
  const search = await openSearch(false, parts(path));
  search.start();
  expect(files.filter((file) => existsSync(file))).toEqual([]);
  expect(search.status().isEnabled).toBe(false);
  await expect(search.search(EVERYTHING, { limit: 1 })).rejects.toMatchObject({
    status: 404,
    code: 'search_disabled',
    hint: expect.stringContaining('search.enabled = true'),
  });
  await search.close();
});

test('search says so and makes no file where the full-text index of SQLite cannot delete', async () => {
  const path = join(folder, 'unsupported.db');
  const search = await openSearch(true, {
    ...parts(path),
    work: {
      ...parts(path).work,
      find: () => Promise.reject(Object.assign(new Error('no such file'), { code: 'ENOENT' })),
    },
    openProbe: () => {
      const sqlite = openSqlite(':memory:');
      sqlite.exec('PRAGMA query_only = 1'); // so that this SQLite cannot make the table either
      return sqlite;
    },
  });
  search.start();
  const reason = expect.stringMatching(
    /^SQLite 3\.\d+\.\d+ cannot hold the index, which needs FTS5 and SQLite 3\.43 or newer \(Node 22\.16 includes both\)$/,
  );
  expect(search.status()).toMatchObject({ isEnabled: true, isComplete: false, problem: reason });
  await expect(search.search(EVERYTHING, { limit: 1 })).rejects.toMatchObject({
    status: 503,
    code: 'search_unavailable',
    message: expect.stringContaining('cannot hold the index'),
  });
  await search.close();
  expect(existsSync(path)).toBe(false);
});

test('an index is made again when other rows count as messages', () => {
  const path = join(folder, 'kinds.db');
  const isNew = (associatedRows: AssociatedRows): boolean => {
    const { sqlite, isNew } = openIndex(path, associatedRows);
    if (isNew) {
      sqlite.exec("INSERT INTO about (one, row_id, change, generation, seen_row, inode) VALUES (1, 0, 0, 0, 0, '')");
    }
    sqlite.close();
    return isNew;
  };
  const orders = ['reactions', 'reactions', 'by_kind', 'by_kind', 'reactions'] as const;
  expect(orders.map(isNew)).toEqual([true, false, true, false, true]);
});
