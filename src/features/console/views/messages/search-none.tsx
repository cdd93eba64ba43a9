// What stands in place of the results if a search has found nothing: where it looked, and what else to try.

import type { VNode } from 'preact';
import { Button, Empty, Icon } from '../../parts/parts.tsx';

/** Matches a word, a phrase or a filter of a query. */
const TERM = /(?:-?\w+:)?["“”][^"“”]*["“”]?|\S+/g;
const FILTER = /^(?:from|in|has|after|before):/;

export interface VainSearch {
  readonly query: string;
  /** Says what the index lacks; undefined if it is complete. */
  readonly lacks: string | undefined;
  /** The query that also finds longer words; undefined if that was asked. */
  readonly longer: string | undefined;
}

/** Returns a sentence about what the index lacks, by the headers of an answer; undefined if it is complete. */
export function lackOf(headers: Headers): string | undefined {
  const [, from] = /^false(?:;\s*from=([\d-]+))?/.exec(headers.get('Postern-Search-Complete') ?? 'true') ?? [];
  return from && `The search index is still being built. So far it contains messages since ${from}.`;
}

interface Props extends VainSearch {
  /** Searches for a query; again if it is the same. */
  readonly search: (query: string) => void;
  readonly clear: () => void;
}

export function SearchNone({ query, lacks, longer, search, clear }: Props): VNode {
  const terms = query.match(TERM) ?? [];
  const isFiltered = terms.some((term) => FILTER.test(term));
  const where = isFiltered
    ? 'Only messages that match the filters were searched.'
    : 'All messages and the names of people and groups were searched.';
  const isLong = terms.length > 1;
  return (
    <Empty
      icon="search"
      title={isLong ? 'No message matches all of this' : `Nothing found for “${query}”`}
      text={`${lacks ?? where}${isLong ? ' Remove what may not match:' : ''}`}
    >
      {isLong && (
        <div class="filters">
          {terms.map((term, index) => (
            <button
              key={term}
              type="button"
              class="chip"
              aria-label={`Search without ${term}`}
              onClick={() => search(terms.filter((_, other) => other !== index).join(' '))}
            >
              <bdi class="cut">{term}</bdi>
              <Icon name="x" />
            </button>
          ))}
        </div>
      )}
      <div class="acts">
        {longer !== undefined && <Button run={() => search(longer)}>Also find longer words</Button>}
        {lacks !== undefined && <Button run={() => search(query)}>Search again</Button>}
        <Button run={clear}>Clear search</Button>
      </div>
    </Empty>
  );
}
