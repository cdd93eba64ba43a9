import { matchingChats } from './folded.ts';
import type { IncludeSet } from './include.ts';
import { type AddedPeople, conversationWithNames, messageWithNames } from './names.ts';
import type { NameSource } from './ports/names-ports.ts';
import type { MessageReader } from './ports/reading-ports.ts';

/**
 * Returns a reader that adds the names of people to the results of `reader`, for queries that include `contacts`.
 */
export function namedReader(reader: MessageReader, naming: NameSource, added?: AddedPeople): MessageReader {
  /** Waits until the names are loaded and returns them. Returns undefined at once unless `include` has `contacts`. */
  const namesFor = async (include: IncludeSet | undefined) => {
    if (include?.has('contacts') !== true) return undefined;
    await naming.ready();
    return naming.names;
  };
  const matching = async (q: string): Promise<readonly string[]> => {
    const [chats] = await Promise.all([reader.chats(), naming.ready()]);
    const { names } = naming;
    return matchingChats(chats, q, (address) => names.nameOf(address));
  };
  return {
    async listMessages(query) {
      const page = await reader.listMessages(query);
      const names = await namesFor(query.include);
      return names ? { ...page, items: page.items.map((message) => messageWithNames(message, names, added)) } : page;
    },
    async message(id, options = {}) {
      const message = await reader.message(id, options);
      const names = message && (await namesFor(options.include));
      return names ? messageWithNames(message, names, added) : message;
    },
    async listConversations({ q, ...query }) {
      const ids = q === undefined ? query.ids : await matching(q);
      const page = await reader.listConversations({ ...query, ids });
      const names = await namesFor(query.include);
      return names ? { ...page, items: page.items.map((one) => conversationWithNames(one, names)) } : page;
    },
    chats: () => reader.chats(),
    async conversation(id, options = {}) {
      const conversation = await reader.conversation(id, options);
      const names = conversation && (await namesFor(options.include));
      return names ? conversationWithNames(conversation, names) : conversation;
    },
    marks: (...parameters) => reader.marks(...parameters),
  };
}
