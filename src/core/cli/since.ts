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
const DAY = /^(\d{4})-(\d\d)-(\d\d)$/;
const DAY_AND_TIME = /^(\d{4})-(\d\d)-(\d\d)(?:[ T]([01]\d|2[0-3]):([0-5]\d)(?::([0-5]\d))?)?$/;
const INSTANT = /^\d{4}-\d\d-\d\dT\d\d:\d\d/;
export const SINCE_FORMS = '2h, 3d, today, yesterday, 2026-01-31, "2026-01-31 08:00" or 2026-01-31T08:00:00Z';

/**
 * Converts one of `SINCE_FORMS` to Unix milliseconds. A duration counts back from now. A day means its beginning, and
 * days and times without a zone are in this machine's. Throws InvalidArgumentError for other values.
 */
export function sinceTime(value: string, nowMs: number): number {
  const [, count, unit = ''] = STRETCH.exec(value) ?? [];
  if (count !== undefined) return nowMs - Number(count) * (UNIT_MS[unit] ?? 0);
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

function instant(ms: number): string {
  return new Date(ms).toISOString();
}

/**
 * Parses a duration of at least a minute, such as `30m`, into seconds. Throws InvalidArgumentError for other values.
 */
export function maxAgeSeconds(value: string): number {
  const [, count = '0', unit = ''] = STRETCH.exec(value) ?? [];
  const seconds = (Number(count) * (UNIT_MS[unit] ?? 0)) / 1000;
  if (seconds < 60) throw new InvalidArgumentError('It must be one of: 30m, 2h, 3d, 1w.');
  return seconds;
}

const CLOCK = /^(?:(today|tomorrow|\d{4}-\d\d-\d\d)[ T])?(\d{1,2}):(\d\d)$/;
export const AT_FORMS = '2h, 18:30, "tomorrow 08:00", "2026-01-31 08:00" or 2026-01-31T08:00:00Z';

/**
 * Converts one of `AT_FORMS` to an instant. A duration counts from now. A time without a day means the next such time
 * in this time zone. An instant stays unchanged, because the service parses it. Throws InvalidArgumentError for other
 * values.
 */
export function atTime(value: string, nowMs: number): string {
  const [, count, unit = ''] = STRETCH.exec(value) ?? [];
  if (count !== undefined) return instant(nowMs + Number(count) * (UNIT_MS[unit] ?? 0));
  const [, day, hours, minutes] = CLOCK.exec(value) ?? [];
  if (hours === undefined || minutes === undefined) {
    if (INSTANT.test(value) && /(?:Z|[+-]\d\d:?\d\d)$/i.test(value)) return value;
    throw new InvalidArgumentError(`It must be one of: ${AT_FORMS}.`);
  }
  const now = new Date(nowMs);
  const [year, month, date] = DAY.exec(day ?? '')
    ?.slice(1)
    .map(Number) ?? [now.getFullYear(), now.getMonth() + 1, now.getDate() + (day === 'tomorrow' ? 1 : 0)];
  const at = (plusDays: number): Date =>
    new Date(year ?? 0, (month ?? 1) - 1, (date ?? 1) + plusDays, Number(hours), Number(minutes));
  const isReal =
    Number(hours) < 24 && Number(minutes) < 60 && (day?.startsWith('2') !== true || at(0).getDate() === date);
  if (!isReal) throw new InvalidArgumentError(`It must be one of: ${AT_FORMS}.`);
  return instant(at(day === undefined && at(0).getTime() <= nowMs ? 1 : 0).getTime());
}
