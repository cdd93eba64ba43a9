import { expect, test } from '@jest/globals';
import { KeylessEvents } from '../../src/features/fleet/hub/keyless-events.ts';

/** Returns the time that one event waits, in milliseconds. */
function waitedMs(events: KeylessEvents, member: string): number {
  let sum = 0;
  for (let count = 1; ; count += 1) {
    const waitMs = events.waitMs(member, count);
    if (waitMs === undefined) return sum;
    sum += waitMs;
  }
}

test('a Mac holds up the events of others once, however many events no hub can open', () => {
  const events = new KeylessEvents();
  expect(waitedMs(events, 'm1')).toBe(599_000);
  expect([waitedMs(events, 'm1'), waitedMs(events, 'm1')]).toEqual([0, 0]);
  expect(waitedMs(events, 'm2')).toBe(599_000);
});

test('another hub is still offered each event of such a Mac', () => {
  const events = new KeylessEvents();
  waitedMs(events, 'm1');
  expect(events.waitMs('m1', 1)).toBe(0);
  expect(events.waitMs('m1', 9)).toBe(0);
});
