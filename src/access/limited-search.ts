import type { Page } from '../domain/ports/reading.ts';
import type { ChatNames, SearchIndex, SearchPage } from '../domain/ports/search.ts';
import type { SearchHit, SearchQuery, SearchStatus } from '../domain/search.ts';
import type { ReadableChats } from './readable.ts';

/** Searches only the conversations that a key may read. */
export class LimitedSearch implements SearchIndex {
  readonly #index: SearchIndex;
  readonly #chats: ReadableChats;
  readonly #onRead: (conversationIds: ReadonlySet<string>) => void;

  constructor(index: SearchIndex, chats: ReadableChats, onRead: (conversationIds: ReadonlySet<string>) => void) {
    this.#index = index;
    this.#chats = chats;
    this.#onRead = onRead;
  }

  status(): SearchStatus {
    return this.#index.status();
  }

  async search(query: SearchQuery, page: SearchPage): Promise<Page<SearchHit>> {
    const chats = this.#chats;
    const within = chats.isUnlisted ? [] : [chats.guids()];
    if (within.some(({ length }) => length === 0)) return { items: [] };
    const found = await this.#index.search({ ...query, conversations: [...query.conversations, ...within] }, page);
    // A message may have moved to another conversation since.
    const items = chats.filter(found.items, ({ message }) => message.conversation_id);
    this.#onRead(new Set(items.map(({ message }) => message.conversation_id)));
    return { ...found, items };
  }
}

/** Looks up only conversations that the key may read. */
export function limitedChatNames(names: ChatNames, chats: ReadableChats): ChatNames {
  const readable = (ids: readonly string[]): readonly string[] => chats.filter(ids, (id) => id);
  return {
    conversations: (idOrAddress) => readable(names.conversations(idOrAddress)),
    named: (name) => readable(names.named(name)),
    isAddress: (text) => names.isAddress(text) && (chats.isUnlisted || readable(names.conversations(text)).length > 0),
  };
}
