import type { Clock } from '../model/ports/host-ports.ts';

/** The machine's clock. All other modules read the time through the `Clock` that they receive. */
export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  after(ms, run) {
    const timer = setTimeout(run, ms);
    return () => clearTimeout(timer);
  },
};

/** Waits for `ms`, or until `signal` is aborted. */
export function pause(clock: Clock, ms: number, signal?: AbortSignal): Promise<void> {
  if (signal?.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    const end = (): void => {
      cancel();
      signal?.removeEventListener('abort', end);
      resolve();
    };
    const cancel = clock.after(ms, end);
    signal?.addEventListener('abort', end);
  });
}

/** Returns the name of the machine's time zone. */
export function localTimeZone(): string {
  return Intl.DateTimeFormat().resolvedOptions().timeZone;
}

/** Returns the midnight at which the day of `ms` began in the machine's time zone. Both are Unix milliseconds. */
export function startOfLocalDay(ms: number): number {
  return new Date(ms).setHours(0, 0, 0, 0);
}
