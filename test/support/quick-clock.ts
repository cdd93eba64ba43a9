import { afterAll } from '@jest/globals';
import type { Clock } from '../../src/domain/ports/host.ts';
import { FakeClock } from './fake-clock.ts';

const STEP_MS = 10;

/**
 * A clock on which time passes so many times as fast, for what takes long and need not. It goes on in steps that wait
 * for this process, so that a busy machine slows time down too. Call it outside tests and hooks.
 */
export function quickClock(times: number): Clock {
  const clock = new FakeClock(Date.now());
  let isPassing = false;
  const timer = setInterval(() => {
    if (isPassing) return;
    isPassing = true;
    void clock.advance(STEP_MS * times).finally(() => {
      isPassing = false;
    });
  }, STEP_MS);
  afterAll(() => clearInterval(timer));
  return clock;
}
