import type { Clock } from '../../src/domain/ports/host.ts';
import { systemClock } from '../../src/runtime/clock.ts';

/** A clock on which time passes so many times as fast, for what takes long and need not. */
export function quickClock(times: number): Clock {
  const [startedAt, startedAtMs] = [systemClock.now(), systemClock.monotonic()];
  const passed = (): number => (systemClock.monotonic() - startedAtMs) * times;
  return {
    now: () => Math.floor(startedAt + passed()),
    monotonic: () => startedAtMs + passed(),
    after: (ms, run) => systemClock.after(ms / times, run),
  };
}
