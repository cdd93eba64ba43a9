import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import type { SearchQuery } from '../../src/domain/search.ts';
import { openSearch } from '../../src/search/open.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { collectingLog } from '../support/log.ts';
import { MemoryLog } from '../support/memory-log.ts';
import { temporaryFolder } from '../support/temporary.ts';

const EVERYTHING: SearchQuery = { terms: [], excluded: [], senders: [], conversations: [], hasAttachment: false };

const folder = temporaryFolder();

test('search that is switched off says what to set, and leaves no file', async () => {
  const path = join(folder, 'search.db');
  const files = [path, `${path}-wal`, `${path}-shm`];
  for (const file of files) writeFileSync(file, 'words');
  const nothing = (): never => {
    throw new Error('search is switched off');
  };
  const search = await openSearch(false, {
    path,
    source: { listed: nothing, messages: nothing, count: nothing },
    find: nothing,
    feed: { lastPublished: nothing, changeGeneration: nothing, resolve: nothing, consume: nothing },
    messages: new MemoryLog(),
    clock: new FakeClock(),
    log: collectingLog(),
  });
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
