/** Names of SQLite's result codes, by number. better-sqlite3 has these names in `code`. */
const NAMES: Readonly<Record<number, string>> = {
  1: 'SQLITE_ERROR',
  2: 'SQLITE_INTERNAL',
  3: 'SQLITE_PERM',
  4: 'SQLITE_ABORT',
  5: 'SQLITE_BUSY',
  6: 'SQLITE_LOCKED',
  7: 'SQLITE_NOMEM',
  8: 'SQLITE_READONLY',
  9: 'SQLITE_INTERRUPT',
  10: 'SQLITE_IOERR',
  11: 'SQLITE_CORRUPT',
  12: 'SQLITE_NOTFOUND',
  13: 'SQLITE_FULL',
  14: 'SQLITE_CANTOPEN',
  15: 'SQLITE_PROTOCOL',
  17: 'SQLITE_SCHEMA',
  18: 'SQLITE_TOOBIG',
  19: 'SQLITE_CONSTRAINT',
  20: 'SQLITE_MISMATCH',
  21: 'SQLITE_MISUSE',
  23: 'SQLITE_AUTH',
  25: 'SQLITE_RANGE',
  26: 'SQLITE_NOTADB',
  // Extended codes that callers distinguish from their basic code.
  522: 'SQLITE_IOERR_SHORT_READ',
};

/**
 * Runs `work`. If it throws an error that has only SQLite's number (`errno` in Bun, `errcode` in Node), sets `code` to
 * the number's name.
 */
export function named<Result>(work: () => Result): Result {
  try {
    return work();
  } catch (error) {
    const failure = error as { code?: unknown; errno?: unknown; errcode?: unknown };
    const number = failure.errcode ?? failure.errno;
    const isNamed = typeof failure.code === 'string' && failure.code.startsWith('SQLITE_');
    if (typeof number === 'number' && !isNamed) failure.code = NAMES[number] ?? NAMES[number & 0xff] ?? 'SQLITE_ERROR';
    throw error;
  }
}
