import type { Included, Junk } from './options.ts';
import type { SearchHit } from './search-types.ts';

export interface SearchFilter extends Included, Junk {
  readonly conversation_id?: string;
  /** The time zone of the dates in the query, such as `America/New_York`. UTC by default. */
  readonly time_zone?: string;
  readonly limit?: number;
  /** Cursor from the previous page. */
  readonly cursor?: string | undefined;
}

export interface SearchResults {
  readonly hits: readonly SearchHit[];
  /** Absent on the last page. */
  readonly cursor?: string | undefined;
  /** False while the service still builds its search index: the search then misses older messages. */
  readonly isComplete: boolean;
  /** The earliest day (YYYY-MM-DD) whose messages are found. Absent if `isComplete` is true. */
  readonly from?: string | undefined;
}

/** Returns the hits of a search, with the cursor and the completeness from the answer's headers. */
export function searchResults(
  hits: readonly SearchHit[],
  { next, header }: { readonly next: string | undefined; readonly header: (name: string) => string | null | undefined },
): SearchResults {
  const completeness = header('postern-search-complete') ?? 'true';
  const from = /;\s*from=([\d-]+)/.exec(completeness)?.[1];
  const cursor = next === undefined ? null : new URL(next, 'http://localhost').searchParams.get('cursor');
  return {
    hits,
    isComplete: !completeness.startsWith('false'),
    ...(cursor !== null && { cursor }),
    ...(from !== undefined && { from }),
  };
}
