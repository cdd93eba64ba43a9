import { InvalidArgumentError } from 'commander';
import { DAY_MS, HOUR_MS, MINUTE_MS, NS_PER_MS } from '../model/durations.ts';
import { lookupTable } from '../model/lookup-table.ts';
import { parseInstant } from '../schema/instant.ts';

const UNIT_MS: Readonly<Record<string, number>> = lookupTable({
  m: MINUTE_MS,
  h: HOUR_MS,
  d: DAY_MS,
  w: 7 * DAY_MS,
});
const STRETCH = /^(\d{1,5})(m|h|d|w)$/;
const DAY_AND_TIME = /^(\d{4})-(\d\d)-(\d\d)(?:[ T]([01]\d|2[0-3]):([0-5]\d)(?::([0-5]\d))?)?$/;
export const SINCE_FORMS = '2h, 3d, today, yesterday, 2026-01-31, "2026-01-31 08:00" or 2026-01-31T08:00:00Z';

/** Returns the milliseconds of a duration such as `2h` or `3d`; undefined for other values. */
export function stretchMs(value: string): number | undefined {
  const [, count, unit = ''] = STRETCH.exec(value) ?? [];
  return count === undefined ? undefined : Number(count) * (UNIT_MS[unit] ?? 0);
}

/**
 * Converts one of `SINCE_FORMS` to Unix milliseconds. A duration counts back from now. A day means its beginning, and
 * days and times without a zone are in this machine's. Throws InvalidArgumentError for other values.
 */
export function sinceTime(value: string, nowMs: number): number {
  const backMs = stretchMs(value);
  if (backMs !== undefined) return nowMs - backMs;
  const now = new Date(nowMs);
  if (value === 'today' || value === 'yesterday') {
    const back = value === 'today' ? 0 : 1;
    return new Date(now.getFullYear(), now.getMonth(), now.getDate() - back).getTime();
  }
  const [year, month, day, ...time] = (DAY_AND_TIME.exec(value) ?? []).slice(1).map((part) => Number(part ?? 0));
  if (year !== undefined && month !== undefined && day !== undefined) {
    const [hours = 0, minutes = 0, seconds = 0] = time;
    const at = new Date(year, month - 1, day, hours, minutes, seconds);
    // Refuses a day that does not exist: Date would read 2026-02-30 as 2 March, and 0026 as 1926.
    if (at.getFullYear() === year && at.getMonth() === month - 1 && at.getDate() === day) return at.getTime();
  }
  const ns = value.includes('T') ? parseInstant(value) : undefined;
  if (ns !== undefined) return Number(ns / NS_PER_MS);
  throw new InvalidArgumentError(`It must be one of: ${SINCE_FORMS}.`);
}

/** Returns the last instant before `ms`, because the service's `since` excludes the instant that it names. */
export function justBefore(ms: number): string {
  return new Date(ms - 1).toISOString().replace('Z', '999999Z');
}

/**
 * Parses a duration of at least a minute, such as `30m`, into seconds. Throws InvalidArgumentError for other values.
 */
export function maxAgeSeconds(value: string): number {
  const seconds = (stretchMs(value) ?? 0) / 1000;
  if (seconds < 60) throw new InvalidArgumentError('It must be one of: 30m, 2h, 3d, 1w.');
  return seconds;
}
