import { expect, test } from '@jest/globals';
import { shownCanary } from '../../src/features/canary/shown.ts';

test.each([
  [90_000, 'works: the last canary arrived after 1 min'],
  [null, 'works: the last canary arrived'],
])('the line of a canary that arrived, with a delay of %p, is "%s"', (delayMs, text) => {
  const at = '2026-01-02T03:04:05Z';
  const times = { sent_at: at, arrived_at: at, delay_ms: delayMs, push_dead_since: null };
  expect(shownCanary({ state: 'arriving', ...times, problem: null }).text).toBe(text);
});
