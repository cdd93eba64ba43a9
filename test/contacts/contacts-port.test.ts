import { describe, expect, test } from '@jest/globals';
import type { Contact, Person } from '../../src/client/types.ts';
import { Ports, type Reach } from '../../src/core/model/port.ts';
import { Naming } from '../../src/core/model/ports/names-ports.ts';
import { searchContacts } from '../../src/features/contacts/contact-search.ts';
import { CONTACTS, PEOPLE } from '../../src/features/contacts/port.ts';
import type { Contacts, PeopleView } from '../../src/features/contacts/ports.ts';

const ANA: Contact = {
  name: 'Ana Silva',
  addresses: ['+15550100', 'ana@secret.example'],
  nickname: null,
  organization: 'Garden',
};
const BEN: Contact = { name: 'Ben', addresses: ['+15550101'], nickname: null, organization: 'Garden' };

/** The reach of a key whose lists name one address, and that may read one conversation. */
const REACH = {
  keyId: 'k',
  has: () => true,
  mayRead: ({ conversation_id: id }) => id === 'any;-;+15550100',
  mayCallBack: () => false,
  noteCallback: () => undefined,
  lists: (address) => address === '+15550100',
  readable: (ids) => ids.filter((id) => id === 'any;-;+15550100'),
  conversations: () => ['any;-;+15550100'],
  closed: () => [],
  read: () => new Map(),
} satisfies Reach;

test('contacts of a key have only the addresses on its lists, and are found only by what it may see', async () => {
  const ports = new Ports();
  // More people than one request may list, all before Ana.
  const crowd = Array.from({ length: 2000 }, (_, n): Contact => ({ ...BEN, name: `A ${n}` }));
  const search: Contacts['search'] = (...asked) => searchContacts([...crowd, ANA, BEN], ...asked);
  ports.provide(CONTACTS, { isOn: true, search });
  const contacts = ports.narrowed(CONTACTS, REACH);
  expect(await contacts.search('garden', 10)).toEqual([{ ...ANA, addresses: ['+15550100'] }]);
  expect(await contacts.search('secret', 10)).toEqual([]);
});

test('people of a key are asked for in its view', async () => {
  const views: (PeopleView | undefined)[] = [];
  const ports = new Ports();
  ports.provide(PEOPLE, {
    search: async (_text, _limit, view) => {
      views.push(view);
      return [];
    },
    person: async (id, view): Promise<Person | undefined> => {
      views.push(view);
      return view === undefined ? { id, name: null, addresses: [], conversations: [] } : undefined;
    },
  });
  const people = ports.narrowed(PEOPLE, REACH);
  expect([await people.search('', 10), await people.person('x')]).toEqual([[], undefined]);
  for (const view of views) {
    expect([view?.hasAddress('+15550100'), view?.hasAddress('+15550101')]).toEqual([true, false]);
    expect(view?.conversations(['any;-;+15550100', 'any;-;+15550101'])).toEqual(['any;-;+15550100']);
  }
  expect(views).toHaveLength(2);
});

describe('without contacts', () => {
  test('nobody has a name, and nothing waits for names', async () => {
    const naming = new Naming();
    expect([naming.ready(), naming.names.nameOf('+15550100'), await naming.named('Ana')]).toEqual([
      undefined,
      undefined,
      [],
    ]);
  });

  test('their ports are not available', () => {
    const unavailable = expect.objectContaining({ code: 'not_available' });
    for (const port of [CONTACTS, PEOPLE]) {
      expect(() => new Ports().get<unknown>(port as never)).toThrow(unavailable);
    }
  });
});
