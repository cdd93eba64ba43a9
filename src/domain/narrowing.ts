import type { LogEntry } from './event.ts';

/** Events that a reader does not want. Only its offset moves past them (decisions U4, V5). */
export interface Narrowing {
  /** Skips rows that were older than this at their first sighting, in seconds. */
  readonly max_age_s?: number | undefined;
  /** False skips rows that macOS filed as junk. */
  readonly junk?: boolean | undefined;
}

/** Returns a filter for the entries that a reader wants; undefined if it wants all. */
export function wantedBy({ max_age_s: maxAgeS, junk }: Narrowing): ((entry: LogEntry) => boolean) | undefined {
  if (maxAgeS === undefined && junk !== false) return undefined;
  const oldest = maxAgeS ?? Number.POSITIVE_INFINITY;
  return ({ ageS = 0, isJunk }) => ageS <= oldest && (junk !== false || isJunk !== true);
}
