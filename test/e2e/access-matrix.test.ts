import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { pathOf, type Route } from '../../src/core/http/route.ts';
import { SCOPES, type Scope } from '../../src/core/model/key.ts';
import { AccessFixture, ANA, BEN, GARDEN, type LimitedClient, WORDS } from '../support/access-fixture.ts';
import { ALL_OPERATIONS, ALL_ROUTES } from '../support/all-operations.ts';

/** Combinations of scopes that a key can have; `webhooks` requires `events`. */
const COMBINATIONS: readonly (readonly Scope[])[] = [
  ['read'],
  ['events'],
  ['send'],
  ['events', 'webhooks'],
  ['approve'],
  ['read', 'events', 'send', 'webhooks'],
];
const ANA_CHAT = `any;-;${ANA}`;
const HIDDEN_EMOJI = '\u{1f98a}';
/** Lists of a key, and what each lets through. */
const LISTS: readonly { readonly read: '*' | readonly string[]; readonly words: readonly string[] }[] = [
  { read: [], words: [] },
  { read: [ANA], words: [WORDS[ANA_CHAT]] },
  { read: '*', words: Object.values(WORDS) },
];

let fixture: AccessFixture;
/** People as the owner sees them. Without cards a person has one address, and the same id for every key. */
let people: readonly { readonly id: string; readonly addresses: readonly string[] }[];
const keys: { readonly client: LimitedClient; readonly scopes: readonly Scope[]; readonly words: readonly string[] }[] =
  [];

beforeAll(async () => {
  fixture = await AccessFixture.start();
  const { chats, chatIds, messages } = fixture;
  const [chat = 0, hidden = 0, shown = 0] = [chatIds[ANA_CHAT], messages[GARDEN], messages[ANA_CHAT]];
  // What may be read points at what may not: as a reply, and from a reaction of another conversation.
  const ana = { chat, handle_id: chats.handle(ANA) };
  chats.message({ ...ana, text: 'a reply', thread_originator_guid: chats.guid(hidden) });
  chats.message({
    chat: chatIds[GARDEN] ?? 0,
    associated_message_type: 2006,
    associated_message_emoji: HIDDEN_EMOJI,
    associated_message_guid: `p:0/${chats.guid(shown)}`,
    handle_id: chats.handle(BEN),
  });
  people = (await fixture.service.get('/people')).json as typeof people;
  for (const scopes of COMBINATIONS) {
    for (const { read, words } of LISTS) keys.push({ client: await fixture.key({ scopes, read }), scopes, words });
  }
});
afterAll(() => fixture.dispose());

/** Returns requests to one route that together touch every conversation and every message. */
function requestsOf(id: string): readonly { readonly method: string; readonly path: string }[] {
  const route = routeOf(id);
  const ids: readonly string[] = route.path.startsWith('/conversations')
    ? Object.keys(WORDS)
    : route.path.startsWith('/messages')
      ? Object.values(fixture.messages).map(String)
      : route.path.startsWith('/people/')
        ? people.map(({ id }) => id)
        : ['00000000-0000-4000-8000-000000000000'];
  const { include } = ALL_OPERATIONS[id]?.query?.shape ?? {};
  const query = [
    ...(route.path === '/events' ? ['after=0'] : []),
    ...(route.path === '/search' ? ['q=from'] : []),
    ...(include !== undefined && id !== 'listAudit' ? ['include=details'] : []),
  ].join('&');
  return ids.map((one) => ({
    method: route.method,
    path: pathOf(route)
      .replace('/api/v1', '')
      .replace('{id}', encodeURIComponent(one))
      .replace('{n}', '0')
      .concat(query === '' ? '' : `?${query}`),
  }));
}

function routeOf(id: string): Route {
  const route = ALL_ROUTES[id];
  if (route === undefined) throw new Error(id);
  return route;
}

const isLetIn = ({ access }: Route, scopes: readonly Scope[]): boolean =>
  access === 'open' || access === 'key' || (access !== 'owner' && access.some((scope) => scopes.includes(scope)));

describe.each(Object.keys(ALL_ROUTES))('%s', (id) => {
  const route = routeOf(id);
  // Metrics cover everything and are not part of the API.
  const isPlain = route.key !== 'query' && route.isOutside !== true;

  test('a limited key gets in only with a scope of the route, and sees only what its list names', async () => {
    if (!isPlain) return;
    const requests = requestsOf(id);
    for (const { client, scopes, words } of keys) {
      const isIn = isLetIn(route, scopes);
      // A key without the scope is refused before anybody looks what it asks about.
      for (const { method, path } of isIn ? requests : requests.slice(0, 1)) {
        const answer = await client.request(method, path);
        const where = `${method} ${path} with ${scopes.join()} and ${words.length} conversations`;
        const code = (answer.json as { code?: string } | undefined)?.code;
        if (!isIn) expect([where, answer.status, code]).toEqual([where, 403, 'scope_missing']);
        else expect([where, code]).not.toEqual([where, 'scope_missing']);
        const hidden = [
          ...Object.values(WORDS).filter((word) => !words.includes(word)),
          ...(words.length < LISTS.length ? [HIDDEN_EMOJI] : []),
          ...(words.length === 0 ? [BEN] : []),
        ];
        expect([where, hidden.filter((word) => answer.text.includes(word))]).toEqual([where, []]);
      }
    }
  });
});

test('every scope opens a route, so that the matrix has both sides', () => {
  const opened = new Set(Object.values(ALL_ROUTES).flatMap(({ access }) => (typeof access === 'string' ? [] : access)));
  expect([...opened].sort()).toEqual([...SCOPES].sort());
});

test('each list has what a key may read, so that the matrix does not pass by refusing everything', async () => {
  const [client, all] = [await fixture.key({ scopes: ['read', 'events'], read: [ANA] }), fixture.service];
  const ana = people.find(({ addresses }) => addresses.includes(ANA));
  const texts = await Promise.all(
    [
      ...['/messages', '/conversations', '/people', '/events?after=0', `/messages/${fixture.messages[ANA_CHAT]}`],
      `/people/${ana?.id}/messages`,
    ].map((path) => client.get(path)),
  );
  expect(texts.map(({ text }) => text.includes(ANA))).toEqual(Array(6).fill(true));
  const everything = await fixture.key({ scopes: ['read'], read: '*' });
  expect((await everything.get('/messages')).text).toBe((await all.get('/messages')).text);
  expect((await everything.get('/conversations')).text).toBe((await all.get('/conversations')).text);
});

test.each([
  '/metrics',
  '/api/v1/diagnostics',
  '/api/v1/keys',
  '/api/v1/audit',
  '/api/v1/permissions/check',
  '/api/v1/overview',
  '/api/v1/stats/keys',
  '/api/v1/config',
])('a limited key never gets %s', async (path) => {
  const { record } = await fixture.key({ scopes: ['read', 'events', 'send', 'webhooks'], read: '*', send: '*' });
  const url = new URL(path, fixture.service.url);
  const isPost = /diagnostics|check/.test(path);
  const answer = await fetch(url, { method: isPost ? 'POST' : 'GET', headers: { 'x-api-key': record.key } });
  expect(answer.status).toBe(403);
});
