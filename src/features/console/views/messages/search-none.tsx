// Replaces the results of a search that has found nothing: where it looked, and what else to try.

import type { VNode } from 'preact';
import { Button, Empty, Icon } from '../../parts/parts.tsx';

/** Matches a word, a phrase or a filter of a query. */
const TERM = /(?:-?\w+:)?["“”][^"“”]*["“”]?|\S+/g;

export interface VainSearch {
  readonly query: string;
  /** Says what the index lacks; undefined if it is complete. */
  readonly lacks: string | undefined;
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

export function SearchNone({ query, lacks, search, clear }: Props): VNode {
  const terms = query.match(TERM) ?? [];
  const isLong = terms.length > 1;
  return (
    <Empty
      icon="search"
      title={`Nothing found for “${query}”`}
      text={`${lacks ?? 'All messages were searched.'} ${isLong ? 'Remove what may not match:' : ''}`}
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
        {lacks !== undefined && <Button run={() => search(query)}>Search again</Button>}
        <Button run={clear}>Clear search</Button>
      </div>
    </Empty>
  );
}
