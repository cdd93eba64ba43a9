import { rightsAddress } from '../../core/model/address.ts';
import { searchedText, searchWords } from '../../core/model/folded.ts';
import type { Key } from '../../core/model/key.ts';
import type { Contact, Contacts, NameLookup } from '../../core/model/ports/contacts-ports.ts';
import type { People, PeopleView } from '../../core/model/ports/people-ports.ts';
import { narrowed } from './narrowing.ts';
import type { ReadableChats } from './readable.ts';
import { contactRules } from './shown-members.ts';

/** Maximum number of hits in the Address Book that are checked against the key's lists. */
const MAX_FOUND = 1000;

/**
 * Returns the contacts that a key may see: those with an address in its read or send list (decision K1). Each contact
 * has only the addresses on these lists.
 */
export function limitedContacts(contacts: Contacts, keyNow: () => Key, chats: ReadableChats): Contacts {
  let names: { readonly of: NameLookup; readonly key: Key; readonly lookup: NameLookup } | undefined;
  const listed = (found: readonly Contact[]): readonly Contact[] => {
    const key = keyNow();
    const rules = contactRules((address) => isListedAddress(key, address));
    return found.map((contact) => narrowed(contact, rules, chats)).filter(({ addresses }) => addresses.length > 0);
  };
  return {
    ready: () => contacts.ready(),
    get names() {
      const [of, key] = [contacts.names, keyNow()];
      if (names?.of !== of || names.key !== key) {
        const lookup = {
          nameOf: (address: string) => (isListedAddress(key, address) ? of.nameOf(address) : undefined),
        };
        names = { of, key, lookup };
      }
      return names.lookup;
    },
    async search(text, limit) {
      const words = searchWords(text);
      // Keeps only contacts in which the words match something that the key may see. A match on a hidden address would
      // reveal that the address exists.
      return listed(await contacts.search(text, MAX_FOUND))
        .filter((contact) => words.every((word) => visibleText(contact).includes(word)))
        .slice(0, limit);
    },
    named: async (name) => listed(await contacts.named(name)),
    canonical: (address) => contacts.canonical(address),
    health: () => contacts.health(),
  };
}

function isListedAddress({ read, send }: Key, address: string): boolean {
  if (read === '*' || send === '*') return true;
  const canonical = rightsAddress(address);
  return [...read, ...send].some((entry) => 'address' in entry && entry.address === canonical);
}

function visibleText({ name, nickname, organization, addresses }: Contact): string {
  return searchedText([name, nickname, organization], addresses);
}

/**
 * Returns the people in conversations that a key may read. Each person has only the addresses on the key's lists
 * (decision V4).
 */
export function limitedPeople(people: People, key: () => Key, chats: ReadableChats): People {
  let known: { readonly guids: readonly string[]; readonly set: ReadonlySet<string> } | undefined;
  const view: PeopleView = {
    hasAddress: (address) => isListedAddress(key(), address),
    conversations(ids) {
      if (chats.isUnlisted) return chats.filter(ids, (id) => id);
      const guids = chats.guids();
      if (known?.guids !== guids) known = { guids, set: new Set(guids) };
      const { set } = known;
      return ids.filter((id) => set.has(id));
    },
  };
  return {
    search: (text, limit) => people.search(text, limit, view),
    person: (id) => people.person(id, view),
  };
}
