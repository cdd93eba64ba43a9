import { expect, test } from '@jest/globals';
import { ClockWatch } from '../../src/core/runtime/clock-watch.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { collectingLog } from '../support/log.ts';

function build() {
  const clock = new FakeClock();
  const log = collectingLog();
  const watch = new ClockWatch(clock, log);
  watch.start();
  return { clock, log, watch };
}

test('a clock set back is reported for a minute, and logged once', async () => {
  const { clock, log, watch } = build();
  await clock.advance(10_000);
  clock.step(-3_600_000);
  await clock.advance(1000);
  expect(watch.warning()).toMatch(/clock jumped.* 3600 s back/);
  await clock.advance(59_000);
  expect(watch.warning()).toBeDefined();
  await clock.advance(2000);
  expect(watch.warning()).toBeUndefined();
  expect(log.lines).toHaveLength(1);
});

test('a clock set forward is noticed within a second', async () => {
  const { clock, watch } = build();
  clock.step(7_200_000);
  await clock.advance(1000);
  expect(watch.warning()).toMatch(/set 7200 s forward\.$/);
});

test('what network time corrects in passing is no jump, however much it comes to', async () => {
  const { clock, watch, log } = build();
  for (let second = 0; second < 100; second += 1) {
    clock.step(200);
    await clock.advance(1000);
  }
  expect(watch.warning()).toBeUndefined();
  expect(log.lines).toEqual([]);
});

test('leaves no timer behind', () => {
  const { clock, watch } = build();
  watch.close();
  expect(clock.pending).toBe(0);
});
