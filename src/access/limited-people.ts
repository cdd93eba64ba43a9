import type { Key } from '../domain/key.ts';
import type { People, PeopleView } from '../domain/ports/people.ts';
import { isListedAddress } from './limited-contacts.ts';
import type { ReadableChats } from './readable.ts';

/** The people in conversations that a key may read, with only the addresses on its lists (decision V4). */
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
