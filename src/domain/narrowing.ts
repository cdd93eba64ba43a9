import type { LogEntry } from './event.ts';

/** The events that a reader chooses to skip. The reader's offset moves past skipped events (decisions AA4, U4, V5). */
export interface Narrowing {
  /** Maximum age in seconds: skips rows that were already older when Postern first saw them. */
  readonly max_age_s?: number | undefined;
  /** False skips rows that macOS filed as junk. */
  readonly junk?: boolean | undefined;
  /** True to receive canaries, which are skipped by default. */
  readonly include_canary?: boolean | undefined;
}

/**
 * Returns a filter for the entries that a reader wants; undefined if the reader wants all of them. `hasCanaries` is
 * false if canaries are off: the filter then does not look for them.
 */
export function wantedBy(
  { max_age_s: maxAgeS, junk, include_canary: isCanaryWanted }: Narrowing,
  hasCanaries = true,
): ((entry: LogEntry) => boolean) | undefined {
  const skipsCanaries = hasCanaries && isCanaryWanted !== true;
  if (maxAgeS === undefined && junk !== false && !skipsCanaries) return undefined;
  const oldest = maxAgeS ?? Number.POSITIVE_INFINITY;
  return ({ ageS = 0, isJunk, isCanary }) =>
    ageS <= oldest && (junk !== false || isJunk !== true) && !(skipsCanaries && isCanary === true);
}
