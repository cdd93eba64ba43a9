export const MS_PER_S = 1000;
export const MINUTE_MS = 60 * MS_PER_S;
export const HOUR_MS = 60 * MINUTE_MS;
export const DAY_MS = 24 * HOUR_MS;

/** Nanoseconds in a millisecond. A bigint like the dates in chat.db, which are nanoseconds and exceed 2^53. */
export const NS_PER_MS = 1_000_000n;

/** Seconds between 1970-01-01 and 2001-01-01, from which dates in chat.db count. */
export const APPLE_EPOCH_S = 978_307_200;
