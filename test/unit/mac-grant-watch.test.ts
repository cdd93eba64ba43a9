import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { PermissionWatcher } from '../../src/core/mac/permission-watcher.ts';
import { openSqlite } from '../../src/core/runtime/sqlite.ts';
import { waitFor } from '../support/eventually.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { collectingLog } from '../support/log.ts';
import { ABSENT, temporaryFolder } from '../support/temporary.ts';

const folder = temporaryFolder();

function setUp(answers: readonly boolean[]) {
  const clock = new FakeClock();
  const left = [...answers];
  let granted = 0;
  const watch = new PermissionWatcher({
    path: `${ABSENT}/chat.db`,
    clock,
    log: collectingLog(),
    onGranted: () => {
      granted += 1;
    },
    freshProcessCanOpen: async () => left.shift() ?? false,
  });
  return { clock, watch, left, granted: () => granted };
}

describe('a permission that was just granted', () => {
  test('asks for a new start once a fresh process can read what we cannot, and only once', async () => {
    const { clock, watch, granted } = setUp([false, false, true, true]);
    watch.set({ isAway: true });
    await clock.advance(10_000);
    expect(granted()).toBe(0);
    await clock.advance(5000);
    expect(granted()).toBe(1);
    await clock.advance(60_000);
    expect(granted()).toBe(1);
    expect(clock.pending).toBe(0);
  });

  test('nobody checks while chat.db can be read, nor after closing', async () => {
    const { clock, watch, left, granted } = setUp([true, true]);
    watch.set({ isAway: false });
    await clock.advance(60_000);
    watch.set({ isAway: true });
    watch.set({ isAway: false });
    await clock.advance(60_000);
    watch.set({ isAway: true });
    watch.close();
    await clock.advance(60_000);
    expect(left).toHaveLength(2);
    expect(granted()).toBe(0);
    expect(clock.pending).toBe(0);
  });

  test('a permission that nobody grants is checked every 5 s, and after 10 minutes every minute', async () => {
    const { clock, watch, left, granted } = setUp([...Array.from({ length: 124 }, () => false), true]);
    watch.set({ isAway: true });
    await clock.advance(600_000);
    expect(left).toHaveLength(125 - 120);
    await clock.advance(59_000);
    expect(left).toHaveLength(5);
    await clock.advance(241_000);
    expect([left.length, granted()]).toEqual([0, 1]);
    const again = setUp([false, false]);
    again.watch.set({ isAway: true });
    await again.clock.advance(10_000);
    expect(again.left).toEqual([]);
  });

  test.each([
    ['a database', true],
    ['no file', false],
    ['garbage', false],
  ])('the fresh process is a real one: %s', async (name, isReadable) => {
    const path = join(folder, `${name}.db`);
    if (name === 'a database') {
      const database = openSqlite(path);
      database.exec('CREATE TABLE message (a)');
      database.close();
    } else if (name === 'garbage') {
      const { writeFileSync } = await import('node:fs');
      writeFileSync(path, 'garbage'.repeat(1000));
    }
    const clock = new FakeClock();
    let granted = 0;
    const moduleFolder = new URL('../../dist/src/core/mac/', import.meta.url);
    const watch = new PermissionWatcher({
      path,
      clock,
      log: collectingLog(),
      onGranted: () => {
        granted += 1;
      },
      moduleFolder,
    });
    watch.set({ isAway: true });
    await clock.advance(5000);
    // Either the permission was granted, or the next check is scheduled.
    await waitFor(() => granted > 0 || clock.pending > 0);
    expect(granted).toBe(isReadable ? 1 : 0);
    watch.close();
  });
});
