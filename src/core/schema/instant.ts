import { MS_PER_S, NS_PER_MS } from '../model/durations.ts';

const ISO_8601 =
  /^(?<day>\d{4}-\d{2}-\d{2})(?:T(?<minute>\d{2}:\d{2})(?::(?<second>\d{2})(?:[.,](?<fraction>\d+))?)?(?:Z|(?<sign>[+-])(?<hours>\d{2})(?::?(?<minutes>\d{2}))?))?$/i;
/**
 * ISO 8601 without separators: 20260131T093000Z. The time is required, because a date alone would look like a number.
 */
const BASIC = /^(\d{4})(\d{2})(\d{2})T(\d{2})(\d{2})(\d{2}(?:[.,]\d+)?)?(Z|[+-].*)$/i;

/**
 * Parses an ISO 8601 instant with `Z` or an offset and any number of decimals, or a plain date, which means midnight
 * UTC (decision B10). Returns nanoseconds since the Unix epoch (finer decimals are cut). Returns undefined for
 * anything else, for impossible days and times, for a time without a zone, which is no instant, and for one outside the
 * years 0 to 9999 in UTC.
 */
export function parseInstant(text: string): bigint | undefined {
  const parts = ISO_8601.exec(withSeparators(text))?.groups;
  if (parts === undefined) return undefined;
  const { day, fraction = '', sign, hours = '0', minutes = '0' } = parts;
  let { minute = '00:00', second = '00' } = parts;
  // 24:00 and a leap second are valid instants that `Date` cannot represent. Each equals the start of the next second.
  let later = 0n;
  if (`${minute}:${second}` === '24:00:00') [minute, later] = ['00:00', 86_400n];
  else if (second === '60') [second, later] = ['59', 1n];
  const shown = `${day}T${minute}:${second}`;
  const ms = Date.parse(`${shown}Z`);
  // `Date` turns 30 February into a day in March, which reads back differently.
  if (Number.isNaN(ms) || !new Date(ms).toISOString().startsWith(shown)) return undefined;
  if (Number(hours) > 23 || Number(minutes) > 59) return undefined;
  const offsetSeconds = BigInt((Number(hours) * 60 + Number(minutes)) * 60) * (sign === '-' ? -1n : 1n);
  const startMs = ms + Number(later - offsetSeconds) * MS_PER_S;
  // The end of the year 9999 in a zone, or a leap second there, can be in a year that no answer could write.
  if (!/^\d{4}-/.test(new Date(startMs).toISOString())) return undefined;
  return BigInt(startMs) * NS_PER_MS + BigInt(fraction.slice(0, 9).padEnd(9, '0'));
}

function withSeparators(text: string): string {
  const [, year, month, day, hour, minute, second, zone] = BASIC.exec(text) ?? [];
  if (year === undefined) return text;
  return `${year}-${month}-${day}T${hour}:${minute}${second === undefined ? '' : `:${second}`}${zone}`;
}
