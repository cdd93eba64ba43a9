import type { SearchHit } from '../../../client/search-types.ts';
import { normalAddress } from '../../../core/model/address.ts';
import type { Message } from '../../../core/model/message.ts';
import type { Page } from '../../../core/model/ports/reading-ports.ts';
import { problem } from '../../../core/model/problems.ts';
import { conversationTag, MAX_UNITS, searchedName, secondOfMs, senderTags, tagsOf } from '../index/document.ts';
import { type DocumentKey, Documents, LAST_ID } from '../index/documents.ts';
import { IndexFile } from '../index/index-file.ts';
import { SearchableIndex } from '../index/searchable-index.ts';
import { type Pattern, SearchedText, toPattern } from '../index/searched-text.ts';
import { mergedHighlights } from '../index/tokens.ts';
import type { SearchedSource, SearchPage } from '../ports.ts';
import type { SearchableMessage, SearchQuery, SearchSender } from '../types.ts';
import { excludedOf, expressionOf, isAsked, sequencesOf } from './expression.ts';

/**
 * Maximum number of documents examined for one page. If the finder's filters reject all of them, the page is empty, and
 * the next page continues after them.
 */
const MAX_CANDIDATES = 20_000;
/** Minimum number of documents examined at once, after those of the first read: few if its hits fill the page. */
const MIN_BATCH = 200;

export interface Found extends Page<SearchHit> {
  /** Documents that no longer match their messages. */
  readonly stale: readonly DocumentKey[];
}

/**
 * Answers queries from the index and chat.db. A query can take long, so the finder runs in the reader thread if there
 * is one.
 */
export class Finder {
  readonly #source: SearchedSource;
  readonly #file = new IndexFile((path) => new SearchableIndex(path));

  constructor(source: SearchedSource) {
    this.#source = source;
  }

  /** Finds one page of hits. Throws SQLite's error if the index is unreadable. */
  find(path: string, query: SearchQuery, { limit, cursor }: SearchPage): Found {
    const index = this.#file.open(path);
    const notes = index.notes();
    const expression = expressionOf(query, (prefix) => index.wordsWith(prefix));
    const matches = matcherOf(query);
    const items: SearchHit[] = [];
    const stale: DocumentKey[] = [];
    const seen = new Set<number>();
    const { from, before } = boundsOf(index.shift(), query);
    let end = cursor === undefined ? before : Math.min(before, idOf(cursor));
    let shown = end;
    for (let looked = 0; looked < MAX_CANDIDATES; ) {
      const batch = Math.max(limit + 1, looked === 0 ? 0 : MIN_BATCH);
      const candidates = index.documents(expression, from, end, batch);
      const meant = this.#inConversations(query, candidates);
      const messages = this.#source.searchable(
        meant.map(({ row }) => row),
        notes,
      );
      for (const [at, { id, row }] of meant.entries()) {
        const message = messages[at];
        end = id;
        const match = message === undefined || !Documents.isIdOf(id, row, message) ? 'stale' : matches(message);
        if (match === 'stale') stale.push({ id, row });
        else if (match !== 'other' && message !== undefined && !seen.has(row)) {
          if (items.length === limit) return { items, next: String(shown), stale };
          seen.add(row);
          const { texts: _, fileNames: _names, ...shownMessage } = message;
          items.push({ message: shownMessage, ...match });
          shown = id;
        }
      }
      if (candidates.length < batch) return { items, stale };
      end = candidates.at(-1)?.id ?? end;
      looked += candidates.length;
    }
    return { items, next: String(end), stale };
  }

  /** Filters the candidates by conversation if the query names more conversations than the FTS5 query can list. */
  #inConversations(query: SearchQuery, candidates: readonly DocumentKey[]): readonly DocumentKey[] {
    if (query.conversations.every(isAsked)) return candidates;
    const isMeant = conversationFilter(query);
    const conversations = this.#source.conversations(candidates.map(({ row }) => row));
    // Also keeps rows that chat.db no longer has, so that `find` reports their documents as stale.
    return candidates.filter((_key, at) => isMeant(conversations[at] ?? '') || conversations[at] === undefined);
  }

  close(): void {
    this.#file.close();
  }
}

/**
 * Returns the range of document ids for the query's dates. The range ends `shift` seconds later than the dates, because
 * a document's id may exceed the time of its message by up to that much.
 */
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

/**
 * Result of comparing a message with a query: the highlights if it matches, `other` if it does not, and `stale` if the
 * indexed document differs from the message.
 */
type Match = Pick<SearchHit, 'highlights' | 'in'> | 'stale' | 'other';

/** Returns a function that checks whether a message matches the query, and in which parts of its texts. */
export function matcherOf(query: SearchQuery): (message: SearchableMessage) => Match {
  const wanted = sequencesOf(query.terms).map(toPattern);
  const excluded = excludedOf(query).map(toPattern);
  const tags = [
    ...query.conversations.filter(isAsked).map((ids) => ids.map(conversationTag)),
    ...(query.senders.length > 0 ? [query.senders.flatMap(senderTags)] : []),
  ];
  const isIndexAsked = expressionOf(query) !== undefined;
  const isInConversation = conversationFilter(query);
  const ignored = new Set(query.without);
  return (message) => {
    if (tags.length > 0) {
      const has = new Set(tagsOf(message));
      if (!tags.every((alternatives) => alternatives.some((tag) => has.has(tag)))) return 'stale';
    }
    if (query.hasAttachment && message.fileNames === undefined) return 'stale';
    const body = new SearchedText(message.body.slice(0, MAX_UNITS));
    const names = (message.fileNames ?? []).map((name) => new SearchedText(searchedName(name)));
    const others = (message.texts ?? []).map(([kind, text]) => [kind, new SearchedText(text)] as const);
    const found = wanted.map((pattern) => body.highlights(pattern));
    const kindOf = (pattern: Pattern) => others.find(([, text]) => text.highlights(pattern).length > 0)?.[0];
    const isNamed = (pattern: Pattern): boolean =>
      names.some((name) => name.highlights(pattern).length > 0) || kindOf(pattern) !== undefined;
    if (!wanted.every((pattern, at) => found[at]?.length !== 0 || isNamed(pattern))) return 'stale';
    const isExcluded = excluded.some((pattern) => body.highlights(pattern).length > 0 || isNamed(pattern));
    if (isExcluded) return isIndexAsked ? 'stale' : 'other';
    // Another conversation or address can have the same tag by chance.
    if (!isInConversation(message.conversation_id) || !isMeant(query, message)) return 'other';
    if (ignored.has(message.conversation_id)) return 'other';
    const elsewhere = wanted.filter((_, at) => found[at]?.length === 0).map(kindOf);
    const kind = elsewhere.find((one) => one !== undefined);
    return { highlights: mergedHighlights(found.flat()), ...(kind !== undefined && { in: kind }) };
  };
}

/** Returns a function that reports whether a conversation is among those that the query is limited to. */
function conversationFilter({ conversations }: SearchQuery): (id: string) => boolean {
  const lists = conversations.map((ids) => new Set(ids));
  return (id) => lists.every((ids) => ids.has(id));
}

function isMeant({ senders, fromMs, beforeMs }: SearchQuery, message: Message): boolean {
  if (senders.length > 0) {
    const sender = normalAddress(message.sender);
    const isBy = (one: SearchSender): boolean =>
      one.isMe ? message.is_from_me : one.addresses.some((address) => normalAddress(address) === sender);
    if (!senders.some(isBy)) return false;
  }
  if (fromMs === undefined && beforeMs === undefined) return true;
  const ms = Date.parse(message.timestamp);
  return ms >= (fromMs ?? ms) && (beforeMs === undefined || ms < beforeMs);
}
