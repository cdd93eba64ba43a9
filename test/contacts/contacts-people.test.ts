import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import type { NameLookup } from '../../src/core/model/ports/names-ports.ts';
import type { NamedChat } from '../../src/core/model/ports/reading-ports.ts';
import { type AddressOwner, type Card, groupCards } from '../../src/features/contacts/card-groups.ts';
import { PeopleReader } from '../../src/features/contacts/people-reader.ts';
import type { PeopleView } from '../../src/features/contacts/ports.ts';

const ANA = '+15550100';
const MAIL = 'ana@example.com';
const HOME = '+15550199';

const card = (name: string, ...addresses: readonly string[]): Card => ({ name, addresses, link: '' });
/** Runs every step of the grouping at once. */
function ownersOf(cards: readonly Card[]): ReadonlyMap<string, AddressOwner> {
  const work = groupCards(cards);
  for (;;) {
    const { done, value } = work.next();
    if (done === true) return value;
  }
}
const linked = (link: string, one: Card): Card => ({ ...one, link });

/** Returns addresses joined by `=`, and ambiguous ones as `!address: names`, all sorted. */
function groupsOf(cards: readonly Card[]): readonly string[] {
  const groups = new Map<unknown, string>();
  for (const [address, owner] of ownersOf(cards)) {
    if ('ambiguous' in owner) groups.set(address, `!${address}: ${owner.ambiguous.names.join(', ')}`);
    else groups.set(owner.group, `${owner.group.name}: ${owner.group.addresses.join(' = ')}`);
  }
  return [...groups.values()].sort();
}

describe('addresses are one person’s', () => {
  test.each<[string, readonly Card[], readonly string[]]>([
    ['on one card', [card('Ana', ANA, MAIL)], ['Ana: +15550100 = ana@example.com']],
    [
      'on cards of equal names that share one, whatever their case and accents',
      [card('ana', ANA, MAIL), card('ÁNA', HOME, ANA)],
      ['ÁNA: +15550100 = +15550199 = ana@example.com'],
    ],
    ['not on cards of equal names that share none', [card('John', '1'), card('John', '2')], ['John: 1', 'John: 2']],
    [
      'on linked cards, even with different names; the fuller name is shown',
      [linked('x', card('Mum', ANA)), linked('x', card('Maria Silva', MAIL))],
      ['Maria Silva: +15550100 = ana@example.com'],
    ],
    [
      'on linked cards that share one',
      [linked('x', card('Mum', ANA)), linked('x', card('Maria Silva', ANA, MAIL))],
      ['Maria Silva: +15550100 = ana@example.com'],
    ],
    [
      'through a third card of the same name',
      [card('Ana', '1'), card('Ana', '2'), card('Ana', '1', '2', '3')],
      ['Ana: 1 = 2 = 3'],
    ],
    [
      'but a landline of two people is nobody’s, and joins nothing',
      [card('Ana', ANA, HOME), card('Ben', HOME, '+15550101')],
      ['!+15550199: Ana, Ben', 'Ana: +15550100', 'Ben: +15550101'],
    ],
    [
      'and not even namesakes are joined by an address that somebody else has',
      [card('Ana', ANA, HOME), card('Ana', MAIL, HOME), card('Ben', HOME)],
      ['!+15550199: Ana, Ben', 'Ana: +15550100', 'Ana: ana@example.com'],
    ],
    [
      'unless links make all its cards one person’s',
      [
        linked('x', card('Mum', ANA)),
        linked('x', card('Maria', MAIL)),
        card('Maria', MAIL, HOME),
        card('Mum', ANA, HOME),
      ],
      ['Maria: +15550100 = +15550199 = ana@example.com'],
    ],
  ])('%s', (_what, cards, expected) => {
    expect(groupsOf(cards)).toEqual(expected);
    expect(groupsOf([...cards].reverse())).toEqual(expected);
  });

  test('with at most ten names at an address of very many', () => {
    const cards = Array.from({ length: 1000 }, (_, index) => card(`Name ${index}`, HOME));
    const [of] = ownersOf(cards).values();
    expect(of).toMatchObject({ ambiguous: { names: { length: 10 } } });
  });
});

const cards = fc.array(
  fc.record({
    name: fc.constantFrom('Ana', 'ana', 'Ben', 'Mum', 'Cleo'),
    addresses: fc.uniqueArray(fc.constantFrom('1', '2', '3', '4', '5', '6'), { minLength: 1, maxLength: 4 }),
    link: fc.constantFrom('', '', '', 'x', 'y'),
  }),
  { maxLength: 9 },
);

describe('whatever the cards', () => {
  test('their order never matters', () => {
    const shuffled = cards.chain((all) =>
      fc.tuple(fc.constant(all), fc.shuffledSubarray(all, { minLength: all.length, maxLength: all.length })),
    );
    fc.assert(
      fc.property(shuffled, ([all, others]) => {
        expect(groupsOf(others)).toEqual(groupsOf(all));
      }),
      { numRuns: 2000 },
    );
  });

  test('only a link ever joins different names', () => {
    fc.assert(
      fc.property(cards, (all) => {
        const owners = ownersOf(all.map((one) => ({ ...one, link: '' })));
        for (const { addresses } of all) {
          for (const address of addresses) {
            const owner = owners.get(address);
            if (owner === undefined) throw new Error('an address was lost');
            const names = new Set(
              all.filter((one) => one.addresses.includes(address)).map((one) => one.name.toLowerCase()),
            );
            const isRight =
              'ambiguous' in owner ? names.size > 1 : names.size === 1 && names.has(owner.group.name.toLowerCase());
            if (!isRight) throw new Error(`${address} is of another person`);
          }
        }
      }),
      { numRuns: 2000 },
    );
  });
});

const noNames: NameLookup = { nameOf: () => undefined };

function reading(all: readonly Card[], chats: readonly NamedChat[]) {
  const state = { names: noNames, cards: all, chats, version: 1, reads: 0 };
  const reader = new PeopleReader(
    {
      ready: () => undefined,
      get names() {
        return state.names;
      },
      canonical: (address) => address.toLowerCase(),
      cards: async () => {
        state.reads += 1;
        return state.cards;
      },
    },
    { version: () => state.version, list: async () => state.chats },
  );
  return { reader, state };
}

const chat = (id: string, ...participants: readonly string[]): NamedChat => ({
  ...{ id, participants },
  isGroup: false,
  name: '',
});

describe('people', () => {
  const BOTH = [card('Ana Silva', ANA, MAIL, HOME), card('Ben Okafor', HOME, '+15550101')];
  const CHATS = [
    chat('iMessage;-;+15550100', ANA),
    chat('SMS;-;+15550100', ANA),
    chat('any;-;Ana@Example.com', 'Ana@Example.com'),
    chat('any;-;+15550199', HOME),
    chat('any;-;12345', '12345'),
  ];

  test('have the conversations of all their addresses, as chat.db spells them; what is shared is apart', async () => {
    const { reader } = reading(BOTH, CHATS);
    const ambiguous = [{ address: HOME, names: ['Ana Silva', 'Ben Okafor'] }];
    const shown = (await reader.search('', 10)).map(({ id: _, ...rest }) => rest);
    expect(shown).toEqual([
      {
        name: 'Ana Silva',
        addresses: [ANA, 'Ana@Example.com'],
        conversations: ['iMessage;-;+15550100', 'SMS;-;+15550100', 'any;-;Ana@Example.com'],
        ambiguous,
      },
      { name: null, addresses: [HOME], conversations: ['any;-;+15550199'], ambiguous },
      { name: null, addresses: ['12345'], conversations: ['any;-;12345'] },
    ]);
  });

  test('are found by every word of the name and the addresses', async () => {
    const { reader } = reading(BOTH, CHATS);
    const found = async (text: string) => (await reader.search(text, 10)).map(({ addresses }) => addresses[0]);
    expect(await found('SILVA 5550100')).toEqual([ANA]);
    expect(await found('silva 12345')).toEqual([]);
    expect(await found('example.com')).toEqual([ANA]);
    expect(await reader.search('', 2)).toHaveLength(2);
  });

  test('keep their ids until a card gives them a smaller address', async () => {
    const { reader, state } = reading([card('Ana', MAIL)], [chat('any;-;a', MAIL), chat('any;-;b', '+1')]);
    const [before] = await reader.search('ana', 1);
    state.version += 1;
    state.chats = [...state.chats, chat('SMS;-;a', MAIL)];
    const [then] = await reader.search('ana', 1);
    expect([then?.id, then?.conversations]).toEqual([before?.id, ['any;-;a', 'SMS;-;a']]);
    expect(await reader.person(before?.id ?? '')).toEqual(then);
    state.names = { ...noNames };
    state.cards = [card('Ana', MAIL, '+1')];
    const [now] = await reader.search('ana', 1);
    expect(now?.conversations).toEqual(['any;-;a', 'any;-;b', 'SMS;-;a']);
    expect(now?.id).not.toBe(before?.id);
    expect(await reader.person(before?.id ?? '')).toBeUndefined();
  });

  test('are read from the cards once, until those change, and not before the first question', async () => {
    const { reader, state } = reading(BOTH, CHATS);
    expect(state.reads).toBe(0);
    for (let at = 0; at < 3; at += 1) {
      state.version += 1;
      await reader.search('', 10);
    }
    expect(state.reads).toBe(1);
  });

  test('are found by the address in an id without members, and never by a group', async () => {
    const { reader } = reading(BOTH, [
      chat('any;-;+15550100'),
      chat('odd'),
      chat('', '+15550102'),
      { ...chat('any;+;chat1', '+15550101'), isGroup: true },
    ]);
    const found = await reader.search('', 10);
    expect(found.map(({ name, conversations }) => [name, conversations])).toEqual([['Ana Silva', ['any;-;+15550100']]]);
  });

  test('do not include a conversation of several people', async () => {
    const { reader } = reading([card('Ana', ANA, MAIL)], [chat('any;-;odd', ANA, HOME), chat('any;-;own', ANA, MAIL)]);
    expect((await reader.search('', 10)).map(({ conversations }) => conversations)).toEqual([['any;-;own']]);
  });

  test('are available again after chat.db was away', async () => {
    const { reader, state } = reading(BOTH, CHATS);
    const away = new Error('away');
    Object.defineProperty(state, 'chats', { configurable: true, get: () => Promise.reject(away) });
    await expect(reader.search('', 10)).rejects.toBe(away);
    Object.defineProperty(state, 'chats', { value: CHATS });
    expect(await reader.search('', 10)).toHaveLength(3);
  });

  test('show a limited view its own part alone, under an id that says nothing of the rest', async () => {
    const { reader } = reading(BOTH, CHATS);
    const view = (addresses: readonly string[], conversations: readonly string[]): PeopleView => ({
      hasAddress: (address) => addresses.includes(address),
      conversations: (ids) => ids.filter((id) => conversations.includes(id)),
    });
    const mail = view(['Ana@Example.com'], ['any;-;Ana@Example.com']);
    const [ana, ...others] = await reader.search('', 10, mail);
    const [whole] = await reader.search('ana', 10);
    const alone = { addresses: ['Ana@Example.com'], conversations: ['any;-;Ana@Example.com'] };
    expect([ana, others]).toEqual([{ id: ana?.id, name: 'Ana Silva', ...alone }, []]);
    expect(ana?.id).not.toBe(whole?.id);
    expect(await reader.person(ana?.id ?? '', mail)).toEqual(ana);
    expect(await reader.person(whole?.id ?? '', mail)).toBeUndefined();
    expect(await reader.search('5550100', 10, mail)).toEqual([]);
    // An address without a readable conversation belongs to nobody.
    expect(await reader.search('', 10, view([ANA], []))).toEqual([]);
  });
});
