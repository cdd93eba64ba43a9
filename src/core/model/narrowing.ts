import type { Key } from './key.ts';

/**
 * Minimum of `max_age_s`, in seconds. Smaller ages are not stored, because no client can ask to skip rows that young.
 */
export const LEAST_AGE_S = 60;

/** Properties of a row besides its content, by which readers skip rows. They are computed where rows are read. */
export interface Marks {
  /**
   * Seconds from the row's date until Postern first saw the row, counting only time in which chat.db was watched
   * (decision U4). Undefined if the age was below `LEAST_AGE_S` or has been deleted since.
   */
  readonly ageS?: number | undefined;
  /** True if macOS had filed the row as junk before Postern read it (decision V5). */
  readonly isJunk?: true | undefined;
  /** True for a row in a conversation that Messages hides (decision AB4). */
  readonly isFiltered?: true | undefined;
  /** True for a message that Postern wrote for one of its features, and that lists leave out (decision B14). */
  readonly isHidden?: true | undefined;
  /** The other ids of the row's conversation, which filters may name as well (decision AB7). */
  readonly otherIds?: readonly string[] | undefined;
}

/** The rows that a reader chooses to skip. The reader's offset moves past skipped events (decisions B14, U4, V5). */
export interface Narrowing {
  /** Maximum age in seconds: skips rows that were already older when Postern first saw them. */
  readonly max_age_s?: number | undefined;
  /** False skips junk: rows that macOS filed as junk, and conversations that Messages hides. */
  readonly junk?: boolean | undefined;
  /** True to receive hidden messages, which are skipped by default. */
  readonly include_hidden?: boolean | undefined;
}

/** A key whose list may name conversations; undefined for the owner. */
export type Reading = Pick<Key, 'read'> | undefined;

/**
 * Returns why a reader skips a row with these marks; undefined if it does not. A conversation that the list of `key`
 * names is never skipped because Messages hides it.
 */
export function skippedAs(
  { max_age_s: oldest = Number.POSITIVE_INFINITY, junk, include_hidden: isHiddenWanted }: Narrowing,
  { ageS = 0, isJunk, isFiltered, isHidden }: Marks = {},
  key?: Reading,
): 'hidden' | 'late' | 'junk' | undefined {
  if (isHidden === true && isHiddenWanted !== true) return 'hidden';
  if (ageS > oldest) return 'late';
  if (junk !== false) return undefined;
  const isNamed = key !== undefined && key.read !== '*';
  return isJunk === true || (isFiltered === true && !isNamed) ? 'junk' : undefined;
}

/**
 * Returns a filter for the entries that a reader wants; undefined if the reader wants all of them. `hidesSome` is
 * false if no message is hidden: the filter then does not look for any. `key` returns the key that reads.
 */
export function wantedBy(
  narrowing: Narrowing,
  hidesSome = true,
  key: () => Reading = () => undefined,
): ((entry: { readonly marks?: Marks | undefined }) => boolean) | undefined {
  const { max_age_s: maxAgeS, junk, include_hidden: isHiddenWanted } = narrowing;
  if (maxAgeS === undefined && junk !== false && (!hidesSome || isHiddenWanted === true)) return undefined;
  return ({ marks }) => skippedAs(narrowing, marks, key()) === undefined;
}

/** Reports whether a reader that asks for nothing special sees an entry. */
export function isShownByDefault({ marks }: { readonly marks?: Marks | undefined }): boolean {
  return skippedAs({}, marks) === undefined;
}
