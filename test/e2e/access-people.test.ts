import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { writeAddressBook } from '../../src/features/simulator/address-book.ts';
import { waitFor } from '../support/eventually.ts';
import { limitedKey } from '../support/limited-key.ts';
import { connectMcp, type McpClient } from '../support/mcp-clients.ts';
import { Receiver } from '../support/receiver.ts';
import { Service } from '../support/service.ts';
import { simulatedMac } from '../support/simulated-mac.ts';

const ANA = '+15550100';
const CHO = 'cho@example.com';
const STRANGER = '+15559999';
const SCOPES = ['read', 'events', 'webhooks', 'send'];
const PEOPLE = ['Ana Silva', 'Cho Tanaka', 'John Smith', 'Zoe'];

/** Lists of a key, and the people who exist for it. */
const LISTS = [
  { what: 'nobody', read: [], send: [], known: [] },
  { what: 'somebody to read', read: [ANA], send: [], known: ['Ana Silva'] },
  { what: 'somebody to write to', read: [], send: [CHO], known: ['Cho Tanaka'] },
  { what: 'one of each', read: [ANA], send: [CHO], known: ['Ana Silva', 'Cho Tanaka'] },
  { what: 'a group of both', read: ['any;+;chat1'], send: ['any;+;chat1'], known: [] },
  { what: 'a stranger', read: [STRANGER], send: [], known: [] },
] as const;

let mac: Awaited<ReturnType<typeof simulatedMac>>;
let service: Service;
let receiver: Receiver;
const clients: McpClient[] = [];

beforeAll(async () => {
  mac = await simulatedMac();
  writeAddressBook(mac.addressBookPath);
  await mac.command({ do: 'receive', from: 'ana@example.com', text: 'from the laptop' });
  for (const from of [ANA, CHO, STRANGER]) await mac.command({ do: 'receive', from, text: 'kettle' });
  const group = { do: 'group', identifier: 'chat1', participants: [ANA, CHO], name: 'Garden' } as const;
  const { guid } = await mac.command<{ guid: string }>(group);
  await mac.command({ do: 'receive', from: ANA, text: 'kettle', chat: guid });
  receiver = await Receiver.start();
  service = await Service.here({
    chatDbPath: mac.chatDbPath,
    osascriptPath: mac.osascriptPath,
    settings: { search: { enabled: true } },
  });
  await waitFor(async () => {
    const { search } = (await service.get('/status')).json as { search?: { state: string } };
    return search?.state === 'complete';
  });
});
afterAll(async () => {
  await Promise.all(clients.map((client) => client.close()));
  await Promise.all([service.dispose(), receiver.close()]);
  await mac.dispose();
});

const namesIn = (text: string): readonly string[] => PEOPLE.filter((name) => text.includes(name));

describe.each(LISTS)('a key that lists $what knows by name only whom it lists', ({ read, send, known }) => {
  let get: (path: string) => Promise<string>;
  let key: string;
  beforeAll(async () => {
    ({ key } = await limitedKey(service, { scopes: SCOPES, read, send }));
    get = async (path) => (await service.get(path, { 'x-api-key': key })).text;
  });

  test('in `names` of everything that has them', async () => {
    const paths = ['/messages?', '/conversations?', '/events?after=0&', '/search?q=kettle&'].map(
      (path) => `${path}include=contacts,details`,
    );
    for (const path of paths) {
      const others = namesIn(await get(path)).filter((name) => !(known as readonly string[]).includes(name));
      expect([path, others]).toEqual([path, []]);
    }
  });

  test('in GET /contacts, by any part of a person', async () => {
    expect([...namesIn(await get('/contacts'))].sort()).toEqual([...known].sort());
    for (const q of ['silva', 'ana@example.com', '5550100', 'tanaka', CHO, 'john']) {
      const found = namesIn(await get(`/contacts?q=${encodeURIComponent(q)}`));
      expect([q, found.filter((name) => !(known as readonly string[]).includes(name))]).toEqual([q, []]);
    }
    // Ana's other address is on no list.
    expect(await get('/contacts')).not.toContain('ana@example.com');
  });

  test('in GET /conversations?q= and conversations_list, which find the same', async () => {
    const client = await connectMcp('2026 over HTTP', service, key);
    clients.push(client);
    const idsOf = (text: string) => [...new Set([...text.matchAll(/any;[-+];[\w@.+]+/g)].map(([id]) => id))].sort();
    const all = idsOf(await get('/conversations'));
    for (const q of ['silva', 'tanaka', '555-01', 'garden', 'chat1', 'an', 'nobody']) {
      const found = idsOf(await get(`/conversations?q=${encodeURIComponent(q)}`));
      expect([q, found.filter((id) => !all.includes(id))]).toEqual([q, []]);
      const { text } = await client.call('conversations_list', { search: q });
      expect([q, idsOf(text).filter((id) => all.includes(id))]).toEqual([q, found]);
      // A name that the key may not see finds nobody, not even in a group that it reads.
      const [who] = namesIn(q === 'silva' ? 'Ana Silva' : q === 'tanaka' ? 'Cho Tanaka' : '');
      if (who !== undefined && !(known as readonly string[]).includes(who)) expect([q, found]).toEqual([q, []]);
    }
    expect(idsOf(await get('/conversations?q=garden'))).toEqual(all.filter((id) => id.includes(';+;')));
  });

  test('in GET /people and their messages, with the addresses and conversations of its list alone', async () => {
    const reads = (read as readonly string[]).filter((entry) => !entry.includes(';'));
    const people = JSON.parse(await get('/people')) as readonly { readonly id: string; readonly addresses: string[] }[];
    expect(people.map(({ addresses }) => addresses)).toEqual(reads.map((address) => [address]));
    expect(namesIn(JSON.stringify(people))).toEqual(reads.includes(ANA) ? ['Ana Silva'] : []);
    for (const { id } of people) {
      const texts = await get(`/people/${id}/messages`);
      expect([texts.includes('kettle'), texts.includes('laptop'), texts.includes(';+;')]).toEqual([true, false, false]);
    }
    expect(await get('/people?q=example.com')).toBe('[]');
    // The owner's id of a person is unknown to a key if it covers an address that the key does not list.
    for (const { id, addresses } of (await service.get('/people')).json as typeof people) {
      if (addresses.every((address) => !reads.includes(address))) {
        expect(JSON.parse(await get(`/people/${id}/messages`))).toMatchObject({ code: 'person_not_found' });
      }
    }
  });

  test('in from:, where everybody else gets the answer for an unknown name', async () => {
    for (const [typed, name] of [
      ['Ana Silva', 'Ana Silva'],
      ['Cho Tanaka', 'Cho Tanaka'],
    ] as const) {
      const answer = await get(`/search?q=${encodeURIComponent(`from:"${typed}"`)}`);
      const never = await get(`/search?q=${encodeURIComponent(`from:"${'X'.repeat(typed.length)}"`)}`);
      const isKnown = (known as readonly string[]).includes(name);
      if (isKnown) expect(answer).toMatch(/^\[/);
      else expect(answer.replaceAll(typed, 'X'.repeat(typed.length))).toBe(never);
    }
  });

  test('in contacts_resolve', async () => {
    const client = await connectMcp('2026 over HTTP', service, key);
    clients.push(client);
    const nobody = (await client.call('contacts_resolve', { name: 'Nobody at all' })).text;
    for (const name of ['Ana Silva', 'Cho Tanaka', 'John Smith']) {
      const { text } = await client.call('contacts_resolve', { name });
      if ((known as readonly string[]).includes(name)) expect(text).toContain(name);
      else expect(text).toBe(nobody);
    }
  });

  test('in deliveries and frames', async () => {
    const hook = { url: receiver.url, events: ['message.received'], include: ['contacts'] };
    const made = await service.post('/webhooks', hook, { 'x-api-key': key });
    const owner = await service.post('/webhooks', { ...hook, url: `${receiver.url}?owner` });
    receiver.deliveries.length = 0;
    const { row } = await mac.command<{ row: number }>({ do: 'receive', from: CHO, text: 'Live' });
    await waitFor(() => receiver.deliveries.some(({ event }) => event.data.id === String(row)));
    await mac.command({ do: 'receive', from: ANA, text: 'Live' });
    const mayReadAna = (read as readonly string[]).includes(ANA);
    await waitFor(
      () => receiver.deliveries.filter(({ event }) => event.data.sender === ANA).length === (mayReadAna ? 2 : 1),
    );
    const texts = receiver.deliveries.map(({ body }) => body.toString('utf8'));
    expect(texts.filter((text) => text.includes(CHO)).length).toBe(1);
    for (const { status, json } of [made, owner]) {
      expect(status).toBe(201);
      await service.request('DELETE', `/webhooks/${(json as { id: string }).id}`);
    }
  });
});

test('a key that lists two people and their group reads the messages of each person apart', async () => {
  const { key } = await limitedKey(service, { scopes: ['read'], read: [ANA, CHO, 'any;+;chat1'], send: [] });
  const get = async (path: string) => (await service.get(path, { 'x-api-key': key })).json;
  const people = (await get('/people')) as readonly {
    readonly id: string;
    readonly conversations: readonly string[];
  }[];
  expect(people.map(({ conversations }) => conversations)).toEqual([[`any;-;${ANA}`], [`any;-;${CHO}`]]);
  for (const { id, conversations } of people) {
    const messages = (await get(`/people/${id}/messages`)) as readonly { readonly conversation_id: string }[];
    expect([...new Set(messages.map((message) => message.conversation_id))]).toEqual(conversations);
  }
});

test('what a search shows a key is a read in the audit log', async () => {
  const { id, key } = await limitedKey(service, { scopes: ['read'], read: [ANA], send: [] });
  await service.get('/search?q=kettle', { 'x-api-key': key });
  const read = (await service.get(`/audit?key=${id}`)).json;
  expect(read).toMatchObject([{ action: 'read', target: `any;-;${ANA}` }]);
});
