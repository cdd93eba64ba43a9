import { searchQueryOf } from '../../../features/search/language/search-query.ts';
import { parseSearch } from '../../../features/search/language/search-text.ts';
import { isTimeZone } from '../../model/day-start.ts';
import { type IncludeSet, NO_INCLUDES } from '../../model/include.ts';
import type { Message } from '../../model/message.ts';
import type { MessageReader, Page } from '../../model/ports/reading-ports.ts';
import { problem } from '../../model/problems.ts';
import type { SearchHit, SearchStatus } from '../../model/search.ts';
import { withoutJunk } from '../../model/without-junk.ts';
import { pageLink } from '../../schema/page-link.ts';
import { readQuery } from '../../schema/query-parameters.ts';
import { searchParameters } from '../../schema/search-schema.ts';
import { fittingList } from '../fitting-list.ts';
import type { Handlers } from '../router.ts';

/** Returns the handler for full-text search (decision J1). */
export function searchRoutes() {
  return {
    async searchMessages({ query: given, caller }) {
      const { search: index, reader } = caller;
      const status = index.status();
      // Checks this before reading the query, because mistakes in the query do not matter while search is disabled.
      if (!status.isEnabled) throw problem('search_disabled');
      const conversationId = given.get('conversation_id') ?? undefined;
      const q = given.get('q');
      const zone = given.get('time_zone') ?? undefined;
      // A zone that does not exist is a mistake that `readQuery` names.
      const timeZone = zone !== undefined && isTimeZone(zone) ? zone : undefined;
      const typed = parseSearch(q ?? '', { isScoped: conversationId !== undefined, timeZone });
      const { query, mistakes } = await searchQueryOf(typed, conversationId, caller);
      const asked = readQuery(searchParameters, given, q === null ? [] : mistakes);
      // An empty list of ids stands for an unknown conversation, which contains no messages (decision B9).
      if (query.conversations.some((ids) => ids.length === 0)) return { status: 200, body: [] };
      const read = async (limit: number): Promise<Page<SearchHit>> => {
        const found = await index.search(query, { limit, cursor: asked.cursor });
        const items = asked.junk === false ? withoutJunk(found.items, ({ message }) => message, caller) : found.items;
        if (asked.include === NO_INCLUDES) return { ...found, items };
        return { ...found, items: await withIncludes(items, reader, asked.include) };
      };
      const { page, content } = await fittingList(asked.limit, read, ({ message }) => message);
      return {
        status: 200,
        content,
        headers: {
          ...completeness(status),
          ...(page.next !== undefined && { Link: pageLink(searchParameters, given, { cursor: page.next }) }),
        },
      };
    },
  } satisfies Partial<Handlers>;
}

/** Reads the messages again with the requested includes. Omits messages that were deleted or changed meanwhile. */
async function withIncludes(
  hits: readonly SearchHit[],
  reader: MessageReader,
  include: IncludeSet,
): Promise<readonly SearchHit[]> {
  const read = await Promise.all(hits.map(async ({ message }) => reader.message(message.id, { include })));
  return hits.flatMap(({ message: found, ...where }, at) => {
    const message = read[at];
    return message === undefined || !isSameContent(message, found) ? [] : [{ message, ...where }];
  });
}

function isSameContent(message: Message, found: Message): boolean {
  return message.body === found.body && String(message.attachments) === String(found.attachments);
}

function completeness({ isComplete, indexedFrom }: SearchStatus): Readonly<Record<string, string>> {
  if (isComplete) return {};
  const from = indexedFrom === undefined ? '' : `; from=${indexedFrom.slice(0, 10)}`;
  return { 'Postern-Search-Complete': `false${from}` };
}
