import type { SearchHit } from '../../client/search-types.ts';
import { fittingList } from '../../core/http/fitting-list.ts';
import type { Handler } from '../../core/http/router.ts';
import { isTimeZone } from '../../core/model/day-start.ts';
import { type IncludeSet, NO_INCLUDES } from '../../core/model/include.ts';
import type { Message } from '../../core/model/message.ts';
import type { MessageReader, Page } from '../../core/model/ports/reading-ports.ts';
import { withoutJunk } from '../../core/model/without-junk.ts';
import { pageLink } from '../../core/schema/page-link.ts';
import { readQuery } from '../../core/schema/query-parameters.ts';
import { parseSearch, SEARCH, searchQueryOf } from './port.ts';
import { searchProblem } from './problems.ts';
import { searchParameters } from './schema.ts';
import type { SearchStatus } from './types.ts';

/** The handler for full-text search (decision J1). */
export const HANDLERS = {
  async searchMessages({ query: given, caller }) {
    const index = caller.port(SEARCH);
    const { reader, naming } = caller;
    const status = index.status();
    // Checks this before reading the query, because mistakes in the query do not matter while search is disabled.
    if (!status.isEnabled) throw searchProblem('search_disabled');
    const conversationId = given.get('conversation_id') ?? undefined;
    const q = given.get('q');
    const zone = given.get('time_zone') ?? undefined;
    // A zone that does not exist is a mistake that `readQuery` names.
    const timeZone = zone !== undefined && isTimeZone(zone) ? zone : undefined;
    const typed = parseSearch(q ?? '', { isScoped: conversationId !== undefined, timeZone });
    const { query, mistakes } = await searchQueryOf(typed, conversationId, { naming, chats: index.chats });
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
} satisfies Readonly<Record<string, Handler>>;

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
