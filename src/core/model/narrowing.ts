import type { LogEntry } from './event.ts';

/** The events that a reader chooses to skip. The reader's offset moves past skipped events (decisions AA4, U4, V5). */
export interface Narrowing {
  /** Maximum age in seconds: skips rows that were already older when Postern first saw them. */
  readonly max_age_s?: number | undefined;
  /** False skips rows that macOS filed as junk. */
  readonly junk?: boolean | undefined;
  /** True to receive hidden messages, which are skipped by default. */
  readonly include_hidden?: boolean | undefined;
}

/**
 * Returns a filter for the entries that a reader wants; undefined if the reader wants all of them. `hidesSome` is
 * false if no message is hidden: the filter then does not look for any.
 */
export function wantedBy(
  { max_age_s: maxAgeS, junk, include_hidden: isHiddenWanted }: Narrowing,
  hidesSome = true,
): ((entry: LogEntry) => boolean) | undefined {
  const skipsHidden = hidesSome && isHiddenWanted !== true;
  if (maxAgeS === undefined && junk !== false && !skipsHidden) return undefined;
  const oldest = maxAgeS ?? Number.POSITIVE_INFINITY;
  return ({ ageS = 0, isJunk, isHidden }) =>
    ageS <= oldest && (junk !== false || isJunk !== true) && !(skipsHidden && isHidden === true);
}
