import type { LogEntry } from './event.ts';

/** Events that a reader does not want; only its offset moves over them (decisions U4, V5). */
export interface Narrowing {
  /** Skips rows that were older at their first sighting, in seconds. */
  readonly max_age_s?: number | undefined;
  /** False skips rows that macOS filed as junk. */
  readonly junk?: boolean | undefined;
}

/** Reports whether a reader wants an entry; undefined when it wants all. */
export function wantedBy({ max_age_s: maxAgeS, junk }: Narrowing): ((entry: LogEntry) => boolean) | undefined {
  if (maxAgeS === undefined && junk !== false) return undefined;
  const oldest = maxAgeS ?? Number.POSITIVE_INFINITY;
  return ({ ageS = 0, isJunk }) => ageS <= oldest && (junk !== false || isJunk !== true);
}
