import type { ChatNames, SearchIndex } from '../../core/model/ports/search-ports.ts';
import { narrowed } from './narrowing.ts';
import type { ReadableChats } from './readable.ts';
import { SEARCH_HIT } from './shown-members.ts';

/** Returns an index that searches only the conversations that a key may read. */
export function limitedSearch(
  index: SearchIndex,
  chats: ReadableChats,
  onRead: (conversationIds: ReadonlySet<string>) => void,
): SearchIndex {
  return {
    status: () => index.status(),
    async search(query, page) {
      const within = chats.isUnlisted ? [] : [chats.guids()];
      if (within.some(({ length }) => length === 0)) return { items: [] };
      const found = await index.search({ ...query, conversations: [...query.conversations, ...within] }, page);
      // Checks the results again. Since a message was indexed, it may have moved to a conversation that the key may not
      // read.
      const items = chats.rows(found.items, ({ message }) => message);
      onRead(new Set(items.map(({ message }) => message.conversation_id)));
      return { ...found, items: items.map((hit) => narrowed(hit, SEARCH_HIT, chats)) };
    },
  };
}

/** Returns a name lookup that finds only conversations that the key may read. */
export function limitedChatNames(names: ChatNames, chats: ReadableChats): ChatNames {
  const readable = (ids: readonly string[]): readonly string[] => chats.filter(ids, (id) => id);
  return {
    conversations: (idOrAddress) => readable(names.conversations(idOrAddress)),
    named: (name) =>
      names
        .named(name)
        .map(readable)
        .filter((ids) => ids.length > 0),
    isAddress: (text) => names.isAddress(text) && (chats.isUnlisted || readable(names.conversations(text)).length > 0),
  };
}
