/** Optional additions to each Message and Conversation (decision H). */
export const INCLUDES = ['details', 'contacts'] as const;
export type Include = (typeof INCLUDES)[number];

/** A combination of includes. Equal combinations are the same object, so that the object can be a cache key. */
export type IncludeSet = ReadonlySet<Include>;

const known = new Map<string, IncludeSet>();

export function includeSet(names: Iterable<Include>): IncludeSet {
  const given = new Set(names);
  const ordered = INCLUDES.filter((name) => given.has(name));
  const key = ordered.join();
  let set = known.get(key);
  if (set === undefined) {
    set = new Set(ordered);
    known.set(key, set);
  }
  return set;
}

/** No includes: messages and conversations have only the members of the contract. */
export const NO_INCLUDES = includeSet([]);
