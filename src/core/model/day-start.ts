import { DAY_MS } from './durations.ts';

/** Reports whether the text is the name of a time zone, such as `America/New_York`. */
export function isTimeZone(text: string): boolean {
  try {
    return formatOf(text).resolvedOptions().timeZone !== '';
  } catch {
    return false;
  }
}

/**
 * Returns the instant at which a day (`YYYY-MM-DD`) begins in a time zone, in Unix milliseconds. That is the first of
 * two midnights, or the first instant after a midnight that the zone skips. The day and the zone must exist.
 */
export function dayStartMs(day: string, timeZone: string): number {
  const utc = Date.parse(`${day}T00:00:00Z`);
  if (timeZone === 'UTC') return utc;
  const format = formatOf(timeZone);
  const shown = (ms: number): number => shownMs(format, ms);
  // The zone's offset at that midnight is the one a day before or the one a day after, unless it changes twice.
  const candidates = [utc - DAY_MS, utc + DAY_MS].map((ms) => utc - (shown(ms) - ms)).toSorted((a, b) => a - b);
  return candidates.find((ms) => shown(ms) >= utc) ?? utc;
}

function formatOf(timeZone: string): Intl.DateTimeFormat {
  const number = '2-digit';
  const time = { hour: number, minute: number, second: number, hourCycle: 'h23' } as const;
  return new Intl.DateTimeFormat('en-US', { timeZone, year: 'numeric', month: number, day: number, ...time });
}

/** Returns what clocks in the zone show at this instant, as if they showed UTC. */
function shownMs(format: Intl.DateTimeFormat, ms: number): number {
  const parts = new Map(format.formatToParts(ms).map(({ type, value }) => [type, value]));
  const part = (type: Intl.DateTimeFormatPartTypes): string => parts.get(type) ?? '';
  const day = `${part('year').padStart(4, '0')}-${part('month')}-${part('day')}`;
  return Date.parse(`${day}T${part('hour')}:${part('minute')}:${part('second')}Z`);
}
