import type { LogEntry } from './event.ts';

/** Events that a reader does not want; only its offset moves over them (decision U4). */
export interface Narrowing {
  /** Skips rows that were older at their first sighting, in seconds. */
  readonly max_age_s?: number | undefined;
}

/** Reports whether a reader wants an entry; undefined when it wants all. */
export function wantedBy({ max_age_s: maxAgeS }: Narrowing): ((entry: LogEntry) => boolean) | undefined {
  return maxAgeS === undefined ? undefined : ({ ageS = 0 }) => ageS <= maxAgeS;
}
