import { existsSync, readdirSync, rmSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { AddressBookSource, addressBookFile, writeAddressBook } from '../../src/features/simulator/address-book.ts';
import { waitFor } from '../support/eventually.ts';
import { nextOf } from '../support/next-page.ts';
import { Receiver } from '../support/receiver.ts';
import { Service } from '../support/service.ts';
import { simulatedMac } from '../support/simulated-mac.ts';

const ANA = '+15550100';
const NOBODY = '+15559999';
let mac: Awaited<ReturnType<typeof simulatedMac>>;
let service: Service;
let group: string;

interface Item {
  readonly id: string;
  readonly names?: Readonly<Record<string, string>>;
  readonly details?: unknown;
}

beforeAll(async () => {
  mac = await simulatedMac();
  writeAddressBook(mac.addressBookPath);
  await mac.command({ do: 'receive', from: ANA, text: 'Hello' });
  await mac.command({ do: 'receive', from: NOBODY, text: 'Who is this?' });
  const participants = [ANA, 'cho@example.com', NOBODY];
  const made = await mac.command<{ guid: string }>({ do: 'group', identifier: 'chat1', participants, name: 'Garden' });
  group = made.guid;
  service = await Service.here({
    chatDbPath: mac.chatDbPath,
    osascriptPath: mac.osascriptPath,
  });
});
afterAll(async () => {
  await service.dispose();
  await mac.dispose();
});

const items = async (path: string): Promise<readonly Item[]> => (await service.get(path)).json as readonly Item[];

test('the Address Book is not opened before somebody asks for names', async () => {
  expect((await items('/messages')).some((message) => 'names' in message)).toBe(false);
  await items('/conversations?include=details');
  expect((await service.get('/status')).json).not.toHaveProperty('contacts');
  expect(existsSync(`${addressBookFile(mac.addressBookPath)}-shm`)).toBe(false);
});

describe('include=contacts', () => {
  test('adds the known names to messages, and nothing else', async () => {
    const plain = await items('/messages?order=asc');
    const named = await items('/messages?order=asc&include=contacts');
    expect(named.map(({ names: _, ...rest }) => rest)).toEqual(plain);
    expect(named.map(({ names }) => names)).toEqual([{ [ANA]: 'Ana Silva' }, {}]);
    expect((await service.get('/messages/1?include=contacts')).json).toEqual(named[0]);
    const both = await items('/messages?order=asc&include=contacts,details&limit=1');
    expect(both[0]).toMatchObject({ names: { [ANA]: 'Ana Silva' }, details: { kind: 'message' } });
  });

  test('adds them to conversations, and stays in the link to the next page', async () => {
    const answer = await service.get('/conversations?include=contacts&limit=1');
    expect(answer.headers.get('link')).toBe('<?limit=1&include=contacts&offset=1>; rel="next"');
    const named = await items('/conversations?include=contacts');
    expect(named.find(({ id }) => id === group)?.names).toEqual({
      [ANA]: 'Ana Silva',
      'cho@example.com': 'Cho Tanaka',
    });
    const one = await service.get(`/conversations/${encodeURIComponent(group)}?include=contacts`);
    expect(one.json).toEqual(named.find(({ id }) => id === group));
  });

  test('works on every way an event takes', async () => {
    const receiver = await Receiver.start();
    const [plain, named] = [await service.socket(), await service.socket('&include=contacts')];
    try {
      const hook = { url: receiver.url, events: ['message.received', 'reaction.added'], include: ['contacts'] };
      expect((await service.post('/webhooks', hook)).status).toBe(201);
      const { row } = await mac.command<{ row: number }>({ do: 'receive', from: ANA, text: 'Live' });
      const { row: reaction } = await mac.command<{ row: number }>({ do: 'react', to: row, from: ANA, type: 2000 });
      for (const id of [row, reaction].map(String)) {
        const fits = ({ data }: { data: { id: string } }): boolean => data.id === id;
        expect((await named.event(fits)).data.names).toEqual({ [ANA]: 'Ana Silva' });
        expect((await plain.event(fits)).data).not.toHaveProperty('names');
        const delivered = await waitFor(() => receiver.deliveries.find(({ event }) => event.data.id === id));
        expect(delivered.event.data).toMatchObject({ names: { [ANA]: 'Ana Silva' } });
        const [polled] = await items(`/events?after=${Number(id) - 1}&limit=1&include=contacts`);
        expect(polled).toMatchObject({ data: { id, names: { [ANA]: 'Ana Silva' } } });
      }
    } finally {
      await Promise.all([plain.close(), named.close(), receiver.close()]);
    }
  });
});

describe('GET /contacts', () => {
  test('finds people by name, and shows namesakes apart', async () => {
    expect((await service.get('/contacts?q=silva')).json).toEqual([
      { name: 'Ana Silva', addresses: [ANA, 'ana@example.com'], nickname: null, organization: null },
    ]);
    expect(await items('/contacts?q=john+smith')).toEqual([]);
    expect(await items('/contacts?q=john%20smith')).toMatchObject([
      { addresses: ['+15550120'] },
      { addresses: ['+15550121'] },
    ]);
    expect(await items('/contacts?limit=2')).toHaveLength(2);
  });

  test.each(['/contacts?limit=0', '/contacts?q=a&q=b', `/contacts?q=${'x'.repeat(201)}`])(
    'refuses %s',
    async (path) => {
      expect((await service.get(path)).status).toBe(400);
    },
  );
});

describe('people', () => {
  interface Someone {
    readonly id: string;
    readonly name: string | null;
    readonly addresses: readonly string[];
    readonly conversations: readonly string[];
    readonly ambiguous?: unknown;
  }
  const people = async (query = '') => (await service.get(`/people${query}`)).json as readonly Someone[];
  const LANDLINE = '+15550130';

  beforeAll(async () => {
    for (const from of ['Ana@Example.com', LANDLINE, ANA]) {
      await mac.command({ do: 'receive', from, text: `by ${from}` });
    }
  });

  test('are listed once over all addresses, and a shared landline belongs to nobody', async () => {
    expect(await people()).toMatchObject([
      { name: 'Ana Silva', addresses: [ANA, 'Ana@Example.com'] },
      { name: null, addresses: [LANDLINE], ambiguous: [{ address: LANDLINE, names: ['Lena Vogel', 'Max Vogel'] }] },
      { name: null, addresses: [NOBODY] },
    ]);
    const [ana] = await people('?q=ana%20example');
    expect(ana?.conversations).toEqual([`any;-;${ANA}`, 'any;-;Ana@Example.com']);
    expect(ana).not.toHaveProperty('ambiguous');
    expect(await people('?q=lena')).toEqual([]);
    expect(await people('?limit=2')).toHaveLength(2);
  });

  test('have their messages in one list, page by page, and none of a group', async () => {
    const [ana] = await people('?q=ana');
    await mac.command({ do: 'receive', from: ANA, text: 'in the garden', chat: group });
    const all = (await items('/messages?limit=200')) as readonly (Item & { conversation_id: string })[];
    const own = all.filter(({ conversation_id }) => ana?.conversations.includes(conversation_id));
    const pages: Item[] = [];
    let path: string | undefined = `/people/${ana?.id}/messages?limit=1&include=contacts`;
    while (path !== undefined) {
      const answer = await service.get(path);
      pages.push(...(answer.json as readonly Item[]));
      path = nextOf(answer);
    }
    expect(pages.map(({ names: _, ...rest }) => rest)).toEqual(own);
    expect(own.length).toBeGreaterThan(2);
    expect(pages.every(({ names }) => Object.values(names ?? {}).includes('Ana Silva'))).toBe(true);
  });

  test.each([
    ['/people/nobody/messages', 404, 'person_not_found'],
    ['/people/%00/messages', 400, 'invalid_path'],
    [`/people/${'x'.repeat(2000)}/messages`, 404, 'person_not_found'],
    ['/people?limit=0', 400, 'invalid_request'],
    [`/people?q=${'x'.repeat(201)}`, 400, 'invalid_request'],
    ['/people/ID/messages?cursor=x', 400, 'invalid_cursor'],
    ['/people/ID/messages?include=x', 400, 'invalid_request'],
  ])('%s is %i %s', async (path, status, code) => {
    const [ana] = await people('?q=ana');
    const answer = await service.get(path.replace('ID', ana?.id ?? ''));
    expect([answer.status, (answer.json as { code?: string }).code]).toEqual([status, code]);
  });
});

test('a name as recipient is refused before Messages is asked, and the answer says what to use', async () => {
  const asked = mac.calls.length;
  for (const more of [{}, { service: 'imessage' }]) {
    const { status, json } = await service.post('/messages', { recipient: 'Ana Silva', body: 'Hi', ...more });
    expect([status, json]).toMatchObject([
      400,
      { code: 'recipient_is_name', hint: expect.stringContaining('/contacts') },
    ]);
  }
  expect(mac.calls.slice(asked)).toEqual([]);
});

test('a person whose name changes has the new one after a restart too, and no file keeps either', async () => {
  const [first = ''] = readdirSync(`${mac.addressBookPath}/Sources`).sort();
  const source = AddressBookSource.open(addressBookFile(mac.addressBookPath, first));
  source.sqlite.exec("UPDATE ZABCDRECORD SET ZFIRSTNAME = 'Anna' WHERE ZFIRSTNAME = 'Ana'");
  source.close();
  await service.stop();
  for (const name of readdirSync(service.configFolder)) {
    if (name.endsWith('.sock')) continue;
    expect(service.stateFile(name).includes('Silva')).toBe(false);
  }
  rmSync(`${mac.addressBookPath}/Sources/8B1F5A52-0C5E-4D1C-9C57-2F6C1D0B7A03`, { recursive: true });
  await service.launch();
  expect(await items('/messages?order=asc&limit=1&include=contacts')).toMatchObject([
    { names: { [ANA]: 'Anna Silva' } },
  ]);
  expect(service.output).not.toContain('Silva');
});

test('switched off, nobody has a name and the list of people is 404', async () => {
  service.configure({ contacts: { enabled: false } });
  await service.stop();
  await service.launch();
  expect(await items('/messages?order=asc&limit=1&include=contacts')).toMatchObject([{ names: {} }]);
  const refused = await service.get('/contacts?q=ana');
  expect([refused.status, (refused.json as { code: string }).code]).toEqual([404, 'contacts_disabled']);
  expect((await service.get('/status')).json).toMatchObject({ contacts: { state: 'off' } });
});
