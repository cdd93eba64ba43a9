import { NS_PER_MS, NS_PER_S } from '../model/durations.ts';

const ISO_8601 =
  /^(?<day>\d{4}-\d{2}-\d{2})(?:T(?<minute>\d{2}:\d{2})(?::(?<second>\d{2})(?:[.,](?<fraction>\d+))?)?(?:Z|(?<sign>[+-])(?<hours>\d{2})(?::?(?<minutes>\d{2}))?))?$/i;
/**
 * ISO 8601 without separators: 20260131T093000Z. The time is required, because a date alone would look like a number.
 */
const BASIC = /^(\d{4})(\d{2})(\d{2})T(\d{2})(\d{2})(\d{2}(?:[.,]\d+)?)?(Z|[+-].*)$/i;

/**
 * Parses an ISO 8601 instant with `Z` or an offset and any number of decimals, or a plain date, which means midnight
 * UTC (decision B10). Returns nanoseconds since the Unix epoch (finer decimals are cut). Returns undefined for
 * anything else, for impossible days and times, and for a time without a zone, which is no instant.
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
  return BigInt(ms) * NS_PER_MS + (later - offsetSeconds) * NS_PER_S + BigInt(fraction.slice(0, 9).padEnd(9, '0'));
}

function withSeparators(text: string): string {
  const [, year, month, day, hour, minute, second, zone] = BASIC.exec(text) ?? [];
  if (year === undefined) return text;
  return `${year}-${month}-${day}T${hour}:${minute}${second === undefined ? '' : `:${second}`}${zone}`;
}
