import { join } from 'node:path';
import { afterAll, beforeEach, describe, expect, test } from '@jest/globals';
import type { CanaryStore } from '../../src/features/canary/ports.ts';
import { canaryStore } from '../../src/features/canary/store.ts';
import { temporaryFolder } from '../support/temporary.ts';
import { HOUR_MS, MINUTE_MS, World } from './world.ts';

const folder = temporaryFolder();
let world: World;
let worlds = 0;
beforeEach(() => {
  if (worlds > 0) world.close();
  worlds += 1;
  world = new World(join(folder, String(worlds)));
});
afterAll(() => world.close());

/** Makes state.db refuse every write, as on a full disk, or take writes again. */
function refuseWrites(isRefusing: boolean): void {
  world.state.exec(`PRAGMA query_only = ${isRefusing ? 'ON' : 'OFF'}`);
}

/** The store of the world, which calls `act` before or after it works. */
function storeWith(act: { readonly load?: () => void; readonly saved?: () => void }): CanaryStore {
  const store = canaryStore(world.state);
  return {
    load(address) {
      act.load?.();
      return store.load(address);
    },
    save(record) {
      store.save(record);
      act.saved?.();
    },
  };
}

/** Returns the warnings and errors that were logged, with their fields. */
function complaints(): readonly (readonly [message: string, fields: object])[] {
  return world.log.lines
    .filter(({ level }) => level === 'warn' || level === 'error')
    .map(({ message, fields }) => [message, fields]);
}

describe('state.db that takes no writes', () => {
  test('after the note of a canary ends neither the canary nor its later ones', async () => {
    let saves = 0;
    const saved = () => {
      saves += 1;
      if (saves === 1) refuseWrites(true);
    };
    world.restart({ store: storeWith({ saved }) });
    await world.pass(MINUTE_MS);
    expect(world.canary.report()).toMatchObject({ problem: 'SQLITE_READONLY' });
    refuseWrites(false);
    await world.pass(6 * HOUR_MS);
    expect(world.canary.report()).toMatchObject({ state: 'arriving', problem: null });
    await expect(world.canary.close()).resolves.toBeUndefined();
  });

  test('is named once, and the canary follows within a minute of its end', async () => {
    refuseWrites(true);
    world.canary.start();
    await world.pass(30 * MINUTE_MS);
    expect(world.sent()).toEqual([]);
    expect(complaints()).toEqual([['a canary could not be sent', { code: 'SQLITE_READONLY' }]]);
    refuseWrites(false);
    await world.pass(MINUTE_MS);
    expect(world.sent()).toHaveLength(1);
    await world.pass(HOUR_MS);
    refuseWrites(true);
    await world.pass(6 * HOUR_MS);
    expect(complaints()).toHaveLength(2);
  });

  test('does not hide that a canary arrived', async () => {
    await world.behave({ push: 'dead' });
    world.canary.start();
    await world.pass(2 * MINUTE_MS);
    refuseWrites(true);
    world.mac.database.sqlite.exec('UPDATE message SET date_delivered = date, is_delivered = 1 WHERE is_from_me');
    await world.pass(5 * MINUTE_MS);
    expect(world.canary.report().state).toBe('arriving');
    expect(world.canary.report().delay_ms).toBeLessThanOrEqual(3 * MINUTE_MS);
    expect(complaints()).toEqual([['could not store what became of a canary', { code: 'SQLITE_READONLY' }]]);
  });

  test('and a clock set back do not keep the service from starting', async () => {
    world.canary.start();
    await world.pass(HOUR_MS);
    world.clock.step(-400 * 24 * HOUR_MS);
    refuseWrites(true);
    world.restart();
    await world.pass(MINUTE_MS);
    refuseWrites(false);
    await world.pass(6 * HOUR_MS - 2 * MINUTE_MS);
    expect(world.sent()).toHaveLength(1);
    await world.pass(3 * MINUTE_MS);
    expect(world.sent()).toHaveLength(2);
  });
});

test('state.db that cannot be read at the start sends nothing until it can be', async () => {
  world.canary.start();
  await world.pass(HOUR_MS);
  let isBroken = true;
  const load = () => {
    if (isBroken) throw Object.assign(new Error('disk I/O error'), { code: 'SQLITE_IOERR' });
  };
  world.restart({ store: storeWith({ load }) });
  await world.pass(10 * MINUTE_MS);
  expect(complaints()).toEqual([['could not check on the canary', { code: 'SQLITE_IOERR' }]]);
  isBroken = false;
  await world.pass(4 * HOUR_MS);
  expect(world.canary.report().state).toBe('arriving');
  expect(world.sent()).toHaveLength(1);
  await world.pass(HOUR_MS);
  expect(world.sent()).toHaveLength(2);
});
