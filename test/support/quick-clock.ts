import { afterAll } from '@jest/globals';
import type { Clock } from '../../src/domain/ports/host.ts';
import { FakeClock } from './fake-clock.ts';

const STEP_MS = 10;

export interface QuickClock extends Clock {
  /** The wall clock is set, as by the person or by network time; timers do not notice. */
  step(ms: number): void;
}

/**
 * A clock whose timers run so many times as fast, for what takes long and need not. It continues in steps that wait for
 * this process, so that a busy machine slows it down too. The time of day is the real one. Call it outside tests and
 * hooks.
 */
export function quickClock(times: number): QuickClock {
  const timers = new FakeClock();
  let steppedMs = 0;
  let isPassing = false;
  const timer = setInterval(() => {
    if (isPassing) return;
    isPassing = true;
    void timers.advance(STEP_MS * times).finally(() => {
      isPassing = false;
    });
  }, STEP_MS);
  afterAll(() => clearInterval(timer));
  return {
    now: () => Date.now() + steppedMs,
    monotonic: () => timers.monotonic(),
    after: (ms, run) => timers.after(ms, run),
    step: (ms) => {
      steppedMs += ms;
    },
  };
}
