import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { Person } from '../../src/client/types.ts';
import { pathOf, type Route } from '../../src/core/http/route.ts';
import { access } from '../../src/features/access/feature.ts';
import { ACCESS } from '../../src/features/access/port.ts';
import { contacts } from '../../src/features/contacts/feature.ts';
import { PEOPLE } from '../../src/features/contacts/port.ts';
import { search } from '../../src/features/search/feature.ts';
import { ALL_OPERATIONS, ALL_ROUTES } from '../support/all-operations.ts';
import { FeatureGateway } from '../support/feature-gateway.ts';
import { CONVERSATION } from '../support/http-gateway.ts';

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
const PLACES: readonly string[] = ['after', 'cursor', 'offset'];
const placesOf = (id: string): readonly string[] => (id === 'listAudit' ? [...PLACES, 'before'] : PLACES);
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
const PAGED = Object.entries(ALL_OPERATIONS).filter(([, { answers }]) =>
  Object.values(answers).some(({ headers = {} }) => 'Link' in headers),
);

let gateway: FeatureGateway;
beforeAll(async () => {
  gateway = await FeatureGateway.start({
    features: [access, contacts, search],
    provide: (ports) => {
      ports.provide(PEOPLE, { search: async () => [], person: async () => PERSON });
      ports.provide(ACCESS, { audit: { list: () => [LINE] } } as never);
    },
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
  const names = Object.keys(query?.shape ?? {}).filter((name) => !placesOf(id).includes(name));
  const asked = new URLSearchParams(
    Object.fromEntries(names.map((name) => [name, VALUES[name] ?? `no value for ${name}`])),
  );
  const url = new URL(
    pathOf(ALL_ROUTES[id] as Route).replace('{id}', encodeURIComponent(CONVERSATION.id)),
    'http://127.0.0.1',
  );
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
    for (const name of placesOf(id)) same.delete(name);
    for (const name of names) places.delete(name);
    expect(Object.fromEntries(same)).toEqual(Object.fromEntries(asked));
    expect([next.pathname, [...places].length]).toEqual([url.pathname, 1]);
  }
});
