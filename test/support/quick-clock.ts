import { afterAll } from '@jest/globals';
import type { Clock } from '../../src/domain/ports/host-ports.ts';
import { FakeClock } from './fake-clock.ts';

const STEP_MS = 10;

export interface QuickClock extends Clock {
  /** Sets the wall clock, as the user or network time would; timers do not notice. */
  step(ms: number): void;
}

/**
 * Returns a clock whose timers run this many times as fast, for long waits that a test need not sit through. It
 * advances in steps that wait for this process, so that a busy machine slows it down too. The time of day is real. Must
 * be called outside tests and hooks.
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
