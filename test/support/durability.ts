import { join } from 'node:path';
import { expect } from '@jest/globals';
import type { Sqlite } from '../../src/core/runtime/sqlite.ts';
import { openStateDatabase } from '../../src/core/state/state-database.ts';

const FULL = 2;
const NORMAL = 1;

/** Expects that what `write` stores is on the disk before anything follows, and that later writes need not be. */
export function expectDurable(
  folder: string,
  features: Parameters<typeof openStateDatabase>[1],
  write: (database: Sqlite) => unknown,
): void {
  const database = openStateDatabase(join(folder, 'durable.db'), features);
  const level = (): unknown => database.prepare('PRAGMA synchronous').get()?.[0];
  const levels: unknown[] = [];
  write({
    ...database,
    transaction(work) {
      levels.push(level());
      return database.transaction(work);
    },
  });
  expect(levels).toEqual([FULL]);
  expect(level()).toBe(NORMAL);
  // Otherwise macOS leaves it in the cache of the disk.
  expect(database.prepare('PRAGMA fullfsync').get()).toEqual([1]);
  database.close();
}
