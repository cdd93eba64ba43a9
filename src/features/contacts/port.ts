// The part of contacts that other features use.
import type { Contact } from '../../client/people-types.ts';
import { searchedText, searchWords } from '../../core/model/folded.ts';
import type { Port } from '../../core/model/port.ts';
import { namedBy } from '../../core/model/ports/names-ports.ts';
import type { Contacts, People } from './ports.ts';

export { bookWithoutService } from './book.ts';

/** Maximum number of hits in the Address Book that are checked against the key's lists. */
const MAX_FOUND = 1000;

/**
 * The contacts. A limited key sees those with an address in its read or send list (decision K1), each with only the
 * addresses on these lists.
 */
export const CONTACTS: Port<Contacts> = {
  name: 'contacts',
  narrow: (contacts, key) => ({
    isOn: contacts.isOn,
    async search(text, limit) {
      const words = searchWords(text);
      // Keeps only contacts in which the words match something that the key may see. A match on a hidden address would
      // reveal that the address exists.
      return namedBy(await contacts.search(text, MAX_FOUND), (address) => key.lists(address))
        .filter((contact) => words.every((word) => visibleText(contact).includes(word)))
        .slice(0, limit);
    },
  }),
};

/**
 * The people. A limited key sees those in conversations that it may read, each with only the addresses on the key's
 * lists (decision V4).
 */
export const PEOPLE: Port<People> = {
  name: 'people',
  narrow(people, key) {
    const view = {
      hasAddress: (address: string) => key.lists(address),
      conversations: (ids: readonly string[]) => key.readable(ids),
    };
    return {
      search: (text, limit) => people.search(text, limit, view),
      person: (id) => people.person(id, view),
    };
  },
};

function visibleText({ name, nickname, organization, addresses }: Contact): string {
  return searchedText([name, nickname, organization], addresses);
}
