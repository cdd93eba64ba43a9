// The part of contacts that other features use.
import type { Port } from '../../core/model/port.ts';
import type { Contacts, People } from './ports.ts';

export { bookWithoutService } from './book.ts';

/**
 * The contacts. A limited key sees those with an address in its read or send list (decision K1), each with only the
 * addresses on these lists.
 */
export const CONTACTS: Port<Contacts> = {
  name: 'contacts',
  narrow: (contacts, key) => ({
    isOn: contacts.isOn,
    search: (text, limit) => contacts.search(text, limit, (address) => key.lists(address)),
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
