import { afterAll } from '@jest/globals';
import type { NatsConnection } from '@nats-io/nats-core';
import type { Clock } from '../../src/core/model/ports/host-ports.ts';
import { FakeClock } from './fake-clock.ts';

const STEP_MS = 10;

export interface QuickClock extends Clock {
  /** Sets the wall clock, as the user or network time would; timers do not notice. */
  step(ms: number): void;
}

/**
 * Returns a clock whose timers run this many times as fast, for long waits that a test need not sit through. It
 * advances in steps that wait for this process and for the broker of `connection`, so that a busy machine slows it down
 * too. The time of day is real. Must be called outside tests and hooks.
 */
export function quickClock(times: number, connection: () => NatsConnection | undefined): QuickClock {
  const timers = new FakeClock();
  let steppedMs = 0;
  let isPassing = false;
  const timer = setInterval(() => {
    if (isPassing) return;
    isPassing = true;
    void answered(connection())
      .then(() => timers.advance(STEP_MS * times))
      .finally(() => {
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

/** Waits until the broker answers. Does not wait while the connection is lost. */
async function answered(connection: NatsConnection | undefined): Promise<void> {
  if (connection?.info === undefined || connection.isClosed()) return;
  await connection.flush().catch(() => undefined);
}
