import type { ChatNames, SearchIndex, SearchPage } from '../domain/ports/search.ts';
import { type HitsPage, hitsOf, type SearchQuery, type SearchStatus, toHitsPage } from '../domain/search.ts';
import type { ReadableChats } from './readable.ts';

/** Searches only the conversations that are there for a key. */
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

  async search(query: SearchQuery, page: SearchPage): Promise<HitsPage> {
    const chats = this.#chats;
    const within = chats.isUnlisted ? [] : [chats.guids()];
    if (within.some(({ length }) => length === 0)) return toHitsPage([]);
    const found = await this.#index.search({ ...query, conversations: [...query.conversations, ...within] }, page);
    // A message may have moved to another conversation since.
    const hits = hitsOf(found);
    const readable = chats.filter(hits, ({ message }) => message.conversation_id);
    this.#onRead(new Set(readable.map(({ message }) => message.conversation_id)));
    return readable.length === hits.length ? found : toHitsPage(readable, found.next);
  }
}

/** Names of conversations that are there. */
export function limitedChatNames(names: ChatNames, chats: ReadableChats): ChatNames {
  const readable = (ids: readonly string[]): readonly string[] => chats.filter(ids, (id) => id);
  return {
    conversations: (idOrAddress) => readable(names.conversations(idOrAddress)),
    named: (name) => readable(names.named(name)),
    isAddress: (text) => names.isAddress(text) && (chats.isUnlisted || readable(names.conversations(text)).length > 0),
  };
}
