import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { Person } from '../../src/client/types.ts';
import { documentsOf } from '../../src/core/feature.ts';
import type { Operation } from '../../src/core/http/openapi/operation.ts';
import { OPERATIONS } from '../../src/core/http/openapi/operations.ts';
import type { AccessService } from '../../src/core/model/ports/access-ports.ts';
import { pathOf, ROUTES, type Route } from '../../src/core/schema/routes.ts';
import { PEOPLE } from '../../src/features/contacts/port.ts';
import { FEATURES } from '../../src/features/list.ts';
import { CONVERSATION, HttpGateway } from '../support/http-gateway.ts';

/** A value of each parameter of the lists. A new parameter needs one here. */
const VALUES: Readonly<Record<string, string>> = {
  action: 'read',
  changes: 'true',
  conversation_id: CONVERSATION.id,
  include: 'contacts',
  include_hidden: 'true',
  junk: 'false',
  key: 'owner',
  limit: '1',
  max_age_s: '86400',
  order: 'desc',
  outcome: 'shown & more',
  q: 'from:me see&you',
  since: '2025-01-01T00:00:00+01:00',
  target: CONVERSATION.id,
  time_zone: 'America/New_York',
  wait: '0',
};
/** Parameters that say where a page begins. A link replaces them. */
const PLACES: readonly string[] = ['after', 'before', 'cursor', 'offset'];
const PERSON: Person = { id: 'p', name: null, addresses: [], conversations: [CONVERSATION.id] };
const LINE = {
  id: 9,
  at: '',
  key_id: 'owner',
  action: 'read',
  target: null,
  outcome: 'shown',
  text_hmac: null,
  count: 1,
};

/** The lists that are read page by page. */
const documents = await documentsOf(FEATURES);
const routes: Readonly<Record<string, Route>> = Object.fromEntries(
  [ROUTES, ...documents.map((one) => one.routes)].flatMap((one) => Object.entries(one)),
);
const operations: readonly (readonly [string, Operation])[] = [
  OPERATIONS,
  ...documents.map((one) => one.operations),
].flatMap((one) => Object.entries(one));
const PAGED = operations.filter(([, { answers }]) =>
  Object.values(answers).some(({ headers = {} }) => 'Link' in headers),
);

let gateway: HttpGateway;
beforeAll(async () => {
  gateway = await HttpGateway.start({
    provide: (ports) => ports.provide(PEOPLE, { search: async () => [], person: async () => PERSON }),
    access: async () => ({ audit: { list: () => [LINE] } }) as unknown as AccessService,
  });
  gateway.reader.next = '700.-1 ü';
  gateway.search.next = '700 ü';
});
afterAll(() => gateway.close());

test('seven lists are read page by page', () => {
  expect(PAGED.map(([id]) => id).sort()).toEqual([
    'listAudit',
    'listConversationAttachments',
    'listConversations',
    'listEvents',
    'listMessages',
    'listPersonMessages',
    'searchMessages',
  ]);
});

test.each(PAGED)('every parameter of %s is in the link to the next page', async (id, { query }) => {
  const names = Object.keys(query?.shape ?? {}).filter((name) => !PLACES.includes(name));
  const asked = new URLSearchParams(
    Object.fromEntries(names.map((name) => [name, VALUES[name] ?? `no value for ${name}`])),
  );
  const route = routes[id];
  if (route === undefined) throw new Error(`${id} has no route`);
  const url = new URL(pathOf(route).replace('{id}', encodeURIComponent(CONVERSATION.id)), 'http://127.0.0.1');
  url.search = [...asked].map(([name, value]) => `${name}=${encodeURIComponent(value)}`).join('&');
  const pages: URL[] = [url];
  for (let page = 1; page <= 2; page += 1) {
    const last = pages.at(-1) ?? url;
    const answer = await gateway.get(`${last.pathname}${last.search}`);
    expect([answer.status, answer.text]).toEqual([200, answer.text]);
    const [, link = ''] = /^<(\?[^<>]+)>; rel="next"$/.exec(String(answer.headers.link)) ?? [];
    pages.push(new URL(link, last));
  }
  for (const next of pages.slice(1)) {
    const [same, places] = [new URLSearchParams(next.search), new URLSearchParams(next.search)];
    for (const name of PLACES) same.delete(name);
    for (const name of names) places.delete(name);
    expect(Object.fromEntries(same)).toEqual(Object.fromEntries(asked));
    expect([next.pathname, [...places].length]).toEqual([url.pathname, 1]);
  }
});
