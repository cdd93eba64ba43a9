import type { IncludeSet } from '../../core/model/include.ts';
import { conversationWithNames, messageWithNames } from '../../core/model/names.ts';
import type { Contacts } from '../../core/model/ports/contacts-ports.ts';
import type { MessageReader } from '../../core/model/ports/reading-ports.ts';

/**
 * Returns a reader that adds the names of contacts to the results of `reader`, for queries that include `contacts`
 * (decision K1).
 */
export function namedReader(reader: MessageReader, contacts: Contacts): MessageReader {
  /** Waits until the names are loaded and returns them. Returns undefined at once unless `include` has `contacts`. */
  const namesFor = async (include: IncludeSet | undefined) => {
    if (include?.has('contacts') !== true) return undefined;
    await contacts.ready();
    return contacts.names;
  };
  return {
    async listMessages(query) {
      const page = await reader.listMessages(query);
      const names = await namesFor(query.include);
      return names ? { ...page, items: page.items.map((message) => messageWithNames(message, names)) } : page;
    },
    async message(id, options = {}) {
      const message = await reader.message(id, options);
      const names = message && (await namesFor(options.include));
      return names ? messageWithNames(message, names) : message;
    },
    async listConversations(query) {
      const page = await reader.listConversations(query);
      const names = await namesFor(query.include);
      return names ? { ...page, items: page.items.map((one) => conversationWithNames(one, names)) } : page;
    },
    async conversation(id, options = {}) {
      const conversation = await reader.conversation(id, options);
      const names = conversation && (await namesFor(options.include));
      return names ? conversationWithNames(conversation, names) : conversation;
    },
    marks: (...parameters) => reader.marks(...parameters),
  };
}
