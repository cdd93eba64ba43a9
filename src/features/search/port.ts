// The part of search that other features use.
import type { Port } from '../../core/model/port.ts';
import type { CallerSearch } from './ports.ts';

export { searchQueryOf } from './language/search-query.ts';
export { parseSearch } from './language/search-text.ts';

/** Full-text search. A limited key finds only messages, and can name only conversations, that it may read. */
export const SEARCH: Port<CallerSearch> = {
  name: 'search',
  narrow: (all, key) => ({
    status: () => all.status(),
    async search(query, page) {
      const list = key.conversations();
      if (list?.length === 0) return { items: [] };
      const within = list === undefined ? [] : [list];
      const conversations = [...query.conversations, ...within];
      // Hits that were only removed from a page would still show in its `next`.
      const found = await all.search({ ...query, conversations, without: key.closed() }, page);
      // Checks the results again. Since a message was indexed, it may have moved to a conversation that the key may not
      // read.
      const read = key.read(found.items.map(({ message }) => message));
      const items = found.items.flatMap(({ message: stored, highlights, in: where }) => {
        const message = read.get(stored);
        return message === undefined ? [] : [{ message, highlights, ...(where !== undefined && { in: where }) }];
      });
      return { ...found, items };
    },
    chats: {
      conversations: (idOrAddress) => key.readable(all.chats.conversations(idOrAddress)),
      named: (name) =>
        all.chats
          .named(name)
          .map((ids) => key.readable(ids))
          .filter((ids) => ids.length > 0),
      isAddress: (text) =>
        all.chats.isAddress(text) &&
        (key.conversations() === undefined || key.readable(all.chats.conversations(text)).length > 0),
    },
  }),
};
