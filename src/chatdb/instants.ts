import type { SqlValue } from '../runtime/sqlite.ts';

/**
 * A moment since 2001-01-01T00:00:00Z, exactly: a stored date in nanoseconds exceeds 2^53, so it
 * never passes through one JavaScript number.
 */
export interface Instant {
  readonly seconds: number;
  readonly nanos: number;
}

/** Seconds between 1970-01-01 and 2001-01-01, from the contract. */
const APPLE_EPOCH_S = 978_307_200;
/** The contract's line between seconds and nanoseconds. */
export const MAX_SECONDS = 10_000_000_000n;
export const MAX_INTEGER = 9_223_372_036_854_775_807n;

const NANOS = 1_000_000_000;
const NANOS_BIG = 1_000_000_000n;
const FIRST_UNIX_S = -62_135_596_800; // 0001-01-01T00:00:00Z
const LAST_UNIX_S = 253_402_300_799; // 9999-12-31T23:59:59Z
const MAX_STORED = 2 ** 63;

export const APPLE_EPOCH: Instant = { seconds: 0, nanos: 0 };
/** The first and the last second that a four-digit year can show. */
export const EARLIEST: Instant = { seconds: FIRST_UNIX_S - APPLE_EPOCH_S, nanos: 0 };
export const LATEST: Instant = { seconds: LAST_UNIX_S - APPLE_EPOCH_S, nanos: 0 };

/**
 * The contract's rule for one stored date (decision B6), from the value and SQL's own quotient and remainder by
 * 1e9. What is no number counts as 2001-01-01; what no four-digit year can show is clamped.
 */
export function instantOf(raw: SqlValue, quotient: SqlValue, remainder: SqlValue): Instant {
  if (typeof raw !== 'number' || typeof quotient !== 'number' || typeof remainder !== 'number') return APPLE_EPOCH;
  if (raw >= -1e10 && raw <= 1e10) return { seconds: Math.trunc(raw), nanos: 0 };
  if (raw > MAX_STORED) return LATEST;
  if (raw < -MAX_STORED) return EARLIEST;
  const seconds = Math.trunc(quotient);
  return remainder < 0 ? { seconds: seconds - 1, nanos: remainder + NANOS } : { seconds, nanos: remainder };
}

export function compareInstants(a: Instant, b: Instant): number {
  return a.seconds - b.seconds || a.nanos - b.nanos;
}

export function toNanoseconds(instant: Instant): bigint {
  return BigInt(instant.seconds) * NANOS_BIG + BigInt(instant.nanos);
}

/** Nanoseconds since 1970 as nanoseconds since 2001. */
export function fromUnixNs(unixNs: bigint): bigint {
  return unixNs - BigInt(APPLE_EPOCH_S) * NANOS_BIG;
}

export function toUnixMs(instant: Instant): number {
  return (instant.seconds + APPLE_EPOCH_S) * 1000 + Math.floor(instant.nanos / 1_000_000);
}

const TWO_DIGITS = Array.from({ length: 60 }, (_, number) => String(number).padStart(2, '0'));
const SECONDS_A_DAY = 86_400;
/** Formatting a date costs more than reading a row; days repeat. Bounded by `days.clear()`. */
const days = new Map<number, string>();

/** `YYYY-MM-DDTHH:MM:SSZ`. */
export function isoOf(instant: Instant): string {
  const unix = instant.seconds + APPLE_EPOCH_S;
  const day = Math.floor(unix / SECONDS_A_DAY);
  const second = unix - day * SECONDS_A_DAY;
  const hour = Math.floor(second / 3600);
  const minute = Math.floor((second - hour * 3600) / 60);
  return `${dayOf(day)}T${TWO_DIGITS[hour]}:${TWO_DIGITS[minute]}:${TWO_DIGITS[second % 60]}Z`;
}

function dayOf(day: number): string {
  const known = days.get(day);
  if (known !== undefined) return known;
  if (days.size >= 10_000) days.clear();
  const text = new Date(day * SECONDS_A_DAY * 1000).toISOString().slice(0, 10);
  days.set(day, text);
  return text;
}
