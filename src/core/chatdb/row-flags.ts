import type { Row } from '../runtime/sqlite.ts';
import { ENTRY_COLUMNS } from './columns.ts';

/** The bits of the column `flags`. They share a column, because each further column makes reading a row slower. */
const BITS = {
  /** False for reactions and for rows that are part of a poll. */
  isMessage: 1,
  /** macOS filed the row as junk. */
  isJunk: 2,
  /** Postern wrote the message to test itself (decision B14). */
  isHidden: 4,
  /** Only in rows of `PENDING_COLUMNS`. */
  isPartOfPoll: 8,
  /** Only in rows of `PENDING_COLUMNS`. */
  lacksHandle: 16,
  /** Only in rows of `PENDING_COLUMNS`. */
  isImessage: 32,
  /** Only in rows of `PENDING_COLUMNS`. */
  lacksJoin: 64,
} as const;

type Flag = keyof typeof BITS;

/** Returns the SQL of the column `flags`. `conditions` contains, for each flag, SQL that is true if the row has it. */
export function flagsSql(conditions: Readonly<Partial<Record<Flag, string>>>): string {
  const possible = Object.entries(conditions).filter(([, condition]) => condition !== '0');
  return possible.map(([flag, condition]) => `((${condition}) IS 1) * ${BITS[flag as Flag]}`).join(' + ') || '0';
}

export function hasFlag(row: Row, flag: Flag): boolean {
  return isSet(row[ENTRY_COLUMNS.at.flags] as number, flag);
}

/** Reports whether a value of the column `flags` has a flag. */
export function isSet(flags: number, flag: Flag): boolean {
  return (flags & BITS[flag]) !== 0;
}
