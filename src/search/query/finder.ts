import type { Page } from '../../domain/ports/reading.ts';
import type { IndexSource, SearchPage } from '../../domain/ports/search.ts';
import { problem } from '../../domain/problems.ts';
import type { SearchHit, SearchQuery } from '../../domain/search.ts';
import { secondOfMs } from '../index/document.ts';
import { type DocumentPlace, Documents, LAST_ID } from '../index/documents.ts';
import { IndexFile } from '../index/index-file.ts';
import { SearchableIndex } from '../index/searchable-index.ts';
import { expressionOf, isAsked } from './expression.ts';
import { conversationFilter, matcherOf } from './matcher.ts';

/**
 * Maximum number of documents examined for one page. With a filter that the index cannot evaluate, more pages follow.
 */
const MAX_CANDIDATES = 20_000;

type FinderSource = Pick<IndexSource, 'messages' | 'conversations'>;

export interface Found extends Page<SearchHit> {
  /** Documents that do not match their messages. */
  readonly stale: readonly DocumentPlace[];
}

/** Answers queries from the index and chat.db, however long it takes. Runs in the reader thread if there is one. */
export class Finder {
  readonly #source: FinderSource;
  readonly #file = new IndexFile((path) => new SearchableIndex(path));

  constructor(source: FinderSource) {
    this.#source = source;
  }

  /** Throws SQLite's error if the index is unreadable. */
  find(path: string, query: SearchQuery, { limit, cursor }: SearchPage): Found {
    const index = this.#file.open(path);
    const expression = expressionOf(query, (prefix) => index.wordsWith(prefix));
    const matches = matcherOf(query);
    const items: SearchHit[] = [];
    const stale: DocumentPlace[] = [];
    const seen = new Set<number>();
    const { from, before } = boundsOf(index.shift(), query);
    let end = cursor === undefined ? before : Math.min(before, idOf(cursor));
    let shown = end;
    for (let looked = 0; looked < MAX_CANDIDATES; ) {
      const candidates = index.places(expression, from, end, limit + 1);
      const meant = this.#inConversations(query, candidates);
      const messages = this.#source.messages(meant.map(({ row }) => row));
      for (const [at, { id, row }] of meant.entries()) {
        const message = messages[at];
        end = id;
        const match = message === undefined || !Documents.isPlaceOf(id, row, message) ? 'stale' : matches(message);
        if (match === 'stale') stale.push({ id, row });
        else if (match !== 'other' && message !== undefined && !seen.has(row)) {
          if (items.length === limit) return { items, next: String(shown), stale };
          seen.add(row);
          const { texts: _, ...shownMessage } = message;
          items.push({ message: shownMessage, ...match });
          shown = id;
        }
      }
      if (candidates.length <= limit) return { items, stale };
      end = candidates.at(-1)?.id ?? end;
      looked += candidates.length;
    }
    return { items, next: String(end), stale };
  }

  /** Keeps the candidates in the query's conversations, if their list was too long for the index. */
  #inConversations(query: SearchQuery, candidates: readonly DocumentPlace[]): readonly DocumentPlace[] {
    if (query.conversations.every(isAsked)) return candidates;
    const isMeant = conversationFilter(query);
    const conversations = this.#source.conversations(candidates.map(({ row }) => row));
    // A removed row is examined too, and found stale.
    return candidates.filter((_place, at) => isMeant(conversations[at] ?? '') || conversations[at] === undefined);
  }

  close(): void {
    this.#file.close();
  }
}

/** The range of document ids: an id may exceed its second by as much as `shift`. */
function boundsOf(
  shift: number,
  { fromMs, beforeMs }: SearchQuery,
): { readonly from: number; readonly before: number } {
  return {
    from: fromMs === undefined ? 0 : Math.max(0, secondOfMs(fromMs)),
    before: beforeMs === undefined ? LAST_ID : Math.max(0, secondOfMs(beforeMs)) + shift,
  };
}

function idOf(cursor: string): number {
  if (!/^\d{1,13}$/.test(cursor)) throw problem('invalid_cursor');
  return Number(cursor);
}
