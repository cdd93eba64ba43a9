import type { Clock } from '../domain/ports/host.ts';

/** The machine's clock: the only place that reads it. */
export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  after(ms, run) {
    const timer = setTimeout(run, ms);
    return () => clearTimeout(timer);
  },
};
