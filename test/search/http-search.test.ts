import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import type { Contact } from '../../src/client/types.ts';
import type { ChatNames } from '../../src/core/model/ports/chat-names-ports.ts';
import { noContacts } from '../../src/features/contacts/no-contacts.ts';
import { searchProblem } from '../../src/features/search/problems.ts';
import { anyText } from '../support/any-text.ts';
import { isLong } from '../support/conditions.ts';
import { FeatureGateway } from '../support/feature-gateway.ts';
import { MESSAGE } from '../support/http-gateway.ts';

const ANA = person('Ana Silva', '+15550100', 'ana@example.com');
const CONTACTS: readonly Contact[] = [ANA, person('Ben', '+15550101'), person('Ben', 'ben@example.com')];

function person(name: string, ...addresses: readonly string[]): Contact {
  return { name, addresses, nickname: null, organization: null };
}

/** Conversations as in chat.db: two with Ana, one with a Ben, and groups of which two share a name. */
const IDS: Readonly<Record<string, readonly string[]>> = {
  '+15550100': ['any;-;+15550100', 'SMS;-;+15550100'],
  'any;-;+15550100': ['any;-;+15550100'],
  chat42: ['any;+;chat42'],
};
const NAMED: Readonly<Record<string, readonly (readonly string[])[]>> = {
  Garden: [['any;+;chat42']],
  Family: [['any;+;chat1'], ['any;+;chat2']],
};
const chats: ChatNames = {
  conversations: (text) => IDS[text] ?? [],
  named: (text) => NAMED[text] ?? [],
  isAddress: (text) => text === 'PARCELS',
};

let gateway: FeatureGateway;
beforeEach(async () => {
  const naming = { ...noContacts, named: async (name: string) => CONTACTS.filter((one) => one.name === name) };
  gateway = await FeatureGateway.start({ naming, settings: { rateLimitPerMinute: 1_000_000 } });
  gateway.search.chats = chats;
});
afterEach(() => gateway.close());

const search = (q: string, more = '') => gateway.get(`/api/v1/search?q=${encodeURIComponent(q)}${more}`);

async function mistakes(q: string): Promise<readonly string[]> {
  const { status, json } = await search(q);
  const { errors = [] } = json as { errors?: { pointer: string; message: string }[] };
  expect([status, ...errors.map(({ pointer }) => pointer)]).toEqual([400, ...errors.map(() => '?q')]);
  return errors.map(({ message }) => message);
}

describe('GET /search', () => {
  test('asks the index for what was typed, and answers messages with highlights', async () => {
    const answer = await search('dinner "see you" hel* -work has:attachment after:2026-01-31 before:2026-02-01');
    expect(answer.status).toBe(200);
    expect(answer.json).toEqual([{ message: MESSAGE, highlights: [[0, 5]] }]);
    expect(answer.headers).not.toHaveProperty('link');
    expect(answer.headers).not.toHaveProperty('postern-search-complete');
    expect(gateway.search.asked).toEqual([
      {
        terms: [
          { kind: 'word', text: 'dinner' },
          { kind: 'phrase', text: 'see you' },
          { kind: 'prefix', text: 'hel' },
        ],
        excluded: ['work'],
        senders: [],
        conversations: [],
        hasAttachment: true,
        fromMs: Date.UTC(2026, 0, 31),
        beforeMs: Date.UTC(2026, 1, 1),
        limit: 50,
      },
    ]);
  });

  test('looks names up: of people with all their addresses, of conversations with all their ids', async () => {
    await search('from:"Ana Silva" from:me from:+15559999 from:PARCELS in:Garden in:"Ana Silva" in:chat42');
    expect(gateway.search.asked[0]).toMatchObject({
      terms: [],
      senders: [
        { isMe: false, addresses: ANA.addresses },
        { isMe: true },
        { isMe: false, addresses: ['+15559999'] },
        { isMe: false, addresses: ['PARCELS'] },
      ],
      conversations: [['any;+;chat42', 'any;-;+15550100', 'SMS;-;+15550100', 'any;+;chat42']],
    });
  });

  test('finds what matches both conversation_id and in:, and nothing in an unknown conversation', async () => {
    await search('in:Garden', '&conversation_id=any;-;+15550100');
    expect(gateway.search.asked[0]?.conversations).toEqual([['any;+;chat42'], ['any;-;+15550100']]);
    const answer = await search('x', '&conversation_id=any;-;nobody');
    expect([answer.status, answer.json, gateway.search.asked.length]).toEqual([200, [], 1]);
  });

  test('has a link to the next page that asks for the same, further on', async () => {
    gateway.search.next = '700 ü';
    const { headers } = await search('from:me see&you', '&conversation_id=any;-;+15550100&limit=999&include=contacts');
    const [, next = ''] = /^<(\?[^>]+)>; rel="next"$/.exec(String(headers.link)) ?? [];
    await gateway.get(`/api/v1/search${next}`);
    const [first, second] = gateway.search.asked;
    expect(first).toMatchObject({ limit: 200 });
    expect(second).toEqual({ ...first, cursor: '700 ü' });
    expect(next).toContain('include=contacts');
  });

  test('begins days at midnight UTC, or in the time zone that the request names, on the next page too', async () => {
    const q = 'after:2026-11-01 before:2026-11-02';
    gateway.search.next = 'more';
    await search(q);
    const { headers } = await search(q, '&time_zone=America/New_York');
    await gateway.get(`/api/v1/search${/^<(\?[^>]+)>/.exec(String(headers.link))?.[1] ?? ''}`);
    const local = { fromMs: Date.UTC(2026, 10, 1, 4), beforeMs: Date.UTC(2026, 10, 2, 5) };
    expect(gateway.search.asked).toMatchObject([
      { fromMs: Date.UTC(2026, 10, 1), beforeMs: Date.UTC(2026, 10, 2) },
      local,
      local,
    ]);
    const { status, json } = await search(q, '&time_zone=Mars');
    expect(status).toBe(400);
    expect(json).toMatchObject({ errors: [{ pointer: '?time_zone' }] });
  });

  test('says from which day on messages are found while the index is being built', async () => {
    gateway.search.state = { ...gateway.search.state, isComplete: false, indexedFrom: '2021-03-04T05:06:07Z' };
    expect((await search('x')).headers['postern-search-complete']).toBe('false; from=2021-03-04');
    gateway.search.state = { ...gateway.search.state, indexedFrom: undefined };
    expect((await search('x')).headers['postern-search-complete']).toBe('false');
  });

  test('adds what was asked for to each message, and leaves out one that is gone or another meanwhile', async () => {
    const hit = { message: MESSAGE, highlights: [[0, 2]] as const };
    gateway.search.hits = [hit, { message: { ...MESSAGE, id: '8' }, highlights: [] }];
    expect((await search('x', '&include=details')).json).toEqual([hit]);
    for (const change of [{ body: 'edited' }, { attachments: ['/other.jpg'] }]) {
      gateway.reader.stored = { ...MESSAGE, ...change };
      expect((await search('x', '&include=details')).json).toEqual([]);
    }
  });
});

describe('a search that cannot be answered', () => {
  test('is 404 while search is off, whatever else is wrong, and says what to set', async () => {
    gateway.search.state = { isEnabled: false, isComplete: false, indexedRows: 0, totalRows: 0 };
    const { status, json } = await gateway.get('/api/v1/search?limit=0');
    expect(status).toBe(404);
    expect(json).toMatchObject({ code: 'search_disabled', hint: expect.stringContaining('search.enabled = true') });
  });

  test('is 503 when the index is broken', async () => {
    gateway.search.failure = searchProblem('search_unavailable', { reason: 'the disk is full' });
    const { status, json } = await search('x');
    expect([status, (json as { code: string }).code]).toEqual([503, 'search_unavailable']);
  });

  test('needs the key', async () => {
    expect((await gateway.get('/api/v1/search?q=x', { key: false })).status).toBe(401);
  });

  test.each(['from:(', 'from:@', 'from:+', 'from:"!?"', 'from:ana@', 'in:('])(
    '%s is not empty but a mistake',
    async (q) => {
      expect(await mistakes(q)).toEqual([
        expect.stringMatching(/is not the name of anyone known|matches no known conv/),
      ]);
    },
  );

  test.each<[string, readonly string[]]>([
    [
      'from:Carla',
      [
        'At character 1: from:Carla is not the name of anyone known. Use a whole name, an address such as from:+15550100, or from:me.',
      ],
    ],
    [
      'x from:Ben',
      [
        'At character 3: from:Ben means several people: Ben (+15550101); Ben (ben@example.com). Use an id or an address.',
      ],
    ],
    [
      'in:Family',
      ['At character 1: in:Family means several conversations: any;+;chat1; any;+;chat2. Use an id or an address.'],
    ],
    [
      'in:any;-;nobody',
      [
        'At character 1: in:any;-;nobody matches no known conversation. Use its full id or name; postern conversations lists them.',
      ],
    ],
  ])('%s', async (q, expected) => {
    expect(await mistakes(q)).toEqual(expected);
  });

  test('names every mistake at once, of the text, of names and of the other parameters', async () => {
    expect(await mistakes('he* from:Carla in:Nowhere')).toEqual([
      expect.stringContaining('he* is too short'),
      expect.stringContaining('from:Carla'),
      expect.stringContaining('in:Nowhere'),
    ]);
    const { json } = await gateway.get('/api/v1/search?limit=0&include=all');
    expect((json as { errors: { pointer: string }[] }).errors.map(({ pointer }) => pointer)).toEqual([
      '?q',
      '?limit',
      '?include',
    ]);
  });
});

test('no query of any kind is answered with 500', async () => {
  const anything = fc.oneof(
    anyText(80),
    fc
      .array(
        fc.constantFrom('from:', 'in:', 'has:', 'after:', '"', '-', '*', ' ', 'a', '学', '\0', '🙂', 'שלום', ')', 'OR'),
      )
      .map((pieces) => pieces.join('')),
  );
  await fc.assert(
    fc.asyncProperty(anything, async (text) => {
      const { status } = await search(text.replace(/\p{Surrogate}/gu, ''));
      expect([200, 400]).toContain(status);
    }),
    { numRuns: isLong ? 150 : 60 },
  );
});
