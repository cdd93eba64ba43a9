import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { waitFor } from '../support/eventually.ts';
import { Fleet, HUB_KEY, type Hub, MAC_KEY } from '../support/fleet-fixture.ts';
import { describeWithNats, NatsServer } from '../support/nats-server.ts';
import { StandInMachine } from '../support/stand-in-mac-machine.ts';

/** What a Mac that lies may answer at any path. */
const HOSTILE: readonly (readonly [string, number, Readonly<Record<string, string>>, string])[] = [
  ['html', 200, { 'content-type': 'text/html' }, '<script>alert(1)</script>'],
  ['inline html', 200, { 'content-type': 'text/html', 'content-disposition': 'inline' }, '<script>alert(1)</script>'],
  ['svg', 200, { 'content-type': 'image/svg+xml' }, '<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"/>'],
  ['script', 200, { 'content-type': 'text/javascript', 'service-worker-allowed': '/' }, 'alert(1)'],
  ['xml', 200, { 'content-type': 'application/xhtml+xml' }, '<html/>'],
  ['no type', 200, {}, '<script>alert(1)</script>'],
  ['json', 200, { 'content-type': 'application/json' }, '{"a":"<script>"}'],
  ['not found', 404, { 'content-type': 'text/html' }, '<script>alert(1)</script>'],
];
const POISON = {
  'set-cookie': 'a=b; Path=/',
  'clear-site-data': '"*"',
  'access-control-allow-origin': '*',
  'access-control-allow-credentials': 'true',
  'content-security-policy': "script-src 'unsafe-inline'",
  'x-content-type-options': 'off',
  'strict-transport-security': 'max-age=1',
  'alt-svc': 'h2="evil.example:443"',
  refresh: '0; url=https://evil.example/',
  'speculation-rules': '"/rules.json"',
  'x-frame-options': 'ALLOWALL',
};

const UUID = '0b7c8f3e-52a1-4c7e-9d3b-1f6a2e8c4d90';
/** Targets that name what only the machine that made it knows. */
const OF_ONE_MACHINE = [
  '/api/v1/messages/12',
  '/api/v1/messages/12/',
  '/api/v1/messages/12?include=details',
  '/api/v1/messages/%31%32',
  '/api/v1/Messages/12/attachments/1?as=jpeg',
  '/api/v1/messages?cursor=abc',
  '/api/v1/messages?limit=2&%63ursor=abc',
  '/api/v1/messages?q=?&cursor=abc',
  '/api/v1/events?after=123',
  '/api/v1/audit?before=40',
  '/api/v1/keys/12ab34cd',
  `/api/v1/approvals/${UUID}/approve`,
  `/api/v1/webhooks/${UUID.toUpperCase()}`,
  '/mcp',
];
/** Spellings of the path of sends that a Mac takes, below `/api/v1/`. */
const SENDS = ['messages/', 'Messages', 'messages?a=b', 'MESSAGES/?a=b'];
const OF_EACH_MACHINE = [
  '/api/v1/messages?include=details',
  '/api/v1/messages?cursor=',
  '/api/v1/messages/gG-1',
  `/api/v1/messages/g${UUID}`,
  `/api/v1/messages/gp%3A0%2F${UUID}?include=details`,
  '/api/v1/conversations/15550100',
  '/api/v1/conversations/any%3B-%3B%2B15550100/attachments',
  '/api/v1/people/0123456789abcdef/messages',
  '/api/v1/people/0123456789012345/messages',
  '/api/v1/events?after=0',
  '/api/v1/keys/me',
];

describeWithNats('what a hub passes on', () => {
  let server: NatsServer;
  let fleet: Fleet;
  let machines: StandInMachine[] = [];

  beforeAll(async () => {
    server = await NatsServer.forFleet();
    fleet = new Fleet(server);
  });
  afterAll(() => server.dispose());
  afterEach(async () => {
    await Promise.all(machines.splice(0).map((one) => one.stop()));
    await fleet.stop();
  });

  async function machine(member: string, handle: RequestListener, more: { machine?: string; sinceMs?: number } = {}) {
    const made = await StandInMachine.start(fleet, member, { handle, ...more });
    machines.push(made);
    return made;
  }
  async function knows(hub: Hub, count: number): Promise<void> {
    await waitFor(async () => {
      const macs = (await (await hub.get('/api/v1/macs')).json()) as { machines: { state: string }[] }[];
      return macs.flatMap((mac) => mac.machines).filter(({ state }) => state === 'present').length === count;
    });
  }
  const bodyOf = async (request: IncomingMessage): Promise<string> => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    return Buffer.concat(chunks).toString();
  };

  test('nothing that a Mac answers runs in the origin of the hub', async () => {
    let answer: (response: ServerResponse) => void = () => {};
    await machine('h1', (_request, response) => answer(response));
    const hub = await fleet.hub();
    await knows(hub, 1);
    for (const [name, status, headers, text] of HOSTILE) {
      for (const path of ['/', '/console', '/api/v1/messages', '/sw.js']) {
        answer = (response) => void response.writeHead(status, { ...POISON, ...headers }).end(text);
        const got = await hub.get(`/macs/h1${path}`);
        expect([name, got.status, await got.text()]).toEqual([name, status, text]);
        expect(got.headers.get('content-security-policy')).toMatch(/^sandbox;/);
        expect(got.headers.get('x-content-type-options')).toBe('nosniff');
        const isJson = headers['content-type'] === 'application/json';
        expect([name, got.headers.get('content-disposition')]).toEqual([name, isJson ? null : 'attachment']);
        for (const poison of Object.keys(POISON)) {
          if (poison !== 'content-security-policy' && poison !== 'x-content-type-options') {
            expect([poison, got.headers.get(poison)]).toEqual([poison, null]);
          }
        }
      }
    }
  });

  test('a redirect of a Mac leads nowhere, and its challenge asks for no password', async () => {
    let answer: (response: ServerResponse) => void = () => {};
    await machine('h2', (_request, response) => answer(response));
    const hub = await fleet.hub();
    await knows(hub, 1);
    for (const status of [301, 302, 303, 307, 308]) {
      answer = (response) => void response.writeHead(status, { location: 'https://evil.example/' }).end();
      const got = await hub.get('/macs/h2/x');
      expect([got.status, got.headers.get('location')]).toEqual([status, null]);
    }
    for (const location of ['//evil.example', 'javascript:alert(1)', '/api/v1/webhooks', '\\\\evil', '../../x']) {
      answer = (response) => void response.writeHead(201, { location }).end();
      expect((await hub.get('/macs/h2/x')).headers.get('location')).toBeNull();
    }
    answer = (response) => void response.writeHead(201, { location: 'messages/12' }).end();
    expect((await hub.get('/macs/h2/x')).headers.get('location')).toBe('messages/12');
    answer = (response) => void response.writeHead(401, { 'www-authenticate': 'Basic realm="hub"' }).end();
    expect((await hub.get('/macs/h2/x')).headers.get('www-authenticate')).toBeNull();
  });

  test('the hub keeps its own key, cookies and the origin of pages; a limited key passes as itself', async () => {
    let seen: IncomingMessage['headers'] = {};
    await machine('h3', (request, response) => {
      seen = request.headers;
      response.end();
    });
    const hub = await fleet.hub();
    await knows(hub, 1);
    await hub.get('/macs/h3/api/v1/x', { cookie: 'a=b' });
    expect(seen['x-api-key']).toBe('owner-of-the-stand-in');
    expect([seen.cookie, seen.origin]).toEqual([undefined, undefined]);
    const headers = { 'x-api-key': 'postern_limited' };
    await fetch(`${hub.url}/macs/h3/api/v1/x`, { headers });
    expect(seen['x-api-key']).toBe('postern_limited');
    const foreign = await hub.get('/macs/h3/api/v1/x', { origin: 'https://evil.example' });
    expect(foreign.status).toBe(403);
  });

  test('no Mac receives the key of the hub, wherever a client has written it', async () => {
    const seen: string[] = [];
    await machine('h8', (request, response) => {
      seen.push(`${request.url} ${JSON.stringify(request.headers)}`);
      response.writeHead(401).end();
    });
    const hub = await fleet.hub();
    await knows(hub, 1);
    const given: readonly (readonly [string, Readonly<Record<string, string>>])[] = [
      ['/mcp', { authorization: `Bearer ${HUB_KEY}` }],
      ['/mcp', { 'x-api-key': HUB_KEY, authorization: 'Bearer postern_limited' }],
      ['/api/v1/x', { 'x-api-key': `${HUB_KEY}, ${HUB_KEY}` }],
      [`/api/v1/x?after=1&api_key=${HUB_KEY}`, {}],
      [`/api/v1/x?api_key=${HUB_KEY.replace('k', '%6B')}&after=1`, { 'x-api-key': HUB_KEY }],
    ];
    for (const [path, headers] of given) await fetch(`${hub.url}/macs/h8${path}`, { headers });
    expect(seen).toHaveLength(given.length);
    expect(decodeURIComponent(seen.join('\n'))).not.toContain(HUB_KEY);
    expect(seen[1]).toContain('postern_limited');
    expect(seen.slice(3).map((line) => line.split(' ')[0])).toEqual(['/api/v1/x?after=1', '/api/v1/x?after=1']);
  });

  test('the API of a real Mac works through the hub: its keys, files by range, and paths of a hub name the Macs', async () => {
    const mac = await fleet.mac('h4');
    const hub = await fleet.hub();
    await knows(hub, 1);
    mac.write('hello', 'G-hello');
    await hub.texts(1, 'after=0&mac=h4');
    const made = await hub.post('/macs/h4/api/v1/keys', { name: 'agent', scopes: ['read'], read: '*' });
    expect(made.status).toBe(201);
    const { key } = (await made.json()) as { key: string };
    const asKey = async (path: string): Promise<Response> =>
      fetch(`${hub.url}${path}`, { headers: { 'x-api-key': key } });
    expect(await (await asKey('/macs/h4/api/v1/messages')).json()).toMatchObject([{ body: 'hello' }]);
    expect((await asKey('/macs/h4/api/v1/keys')).status).toBe(403);
    expect((await asKey('/api/v1/macs')).status).toBe(401);
    expect((await fetch(`${hub.url}/macs/h4/api/v1/messages`, { headers: { 'x-api-key': MAC_KEY } })).status).toBe(200);
    expect((await fetch(`${hub.url}/macs/h4/api/v1/messages`)).status).toBe(401);
    const byGuid = await hub.get('/macs/h4/api/v1/messages/gG-hello');
    expect(await byGuid.json()).toMatchObject({ body: 'hello' });
    const old = await hub.get('/api/v1/messages/12');
    expect([old.status, await old.json()]).toMatchObject([
      404,
      { code: 'mac_needed', macs: expect.arrayContaining(['/macs/h4/api/v1/messages/12']) },
    ]);
    expect((await hub.get('/macs/none/api/v1/messages')).status).toBe(404);
    // A Mac that needs longer than half a second is missing.
    const merged = await waitFor(async () => {
      const rows = (await (await hub.get('/api/v1/conversations')).json()) as readonly unknown[];
      return rows.length > 0 && rows;
    });
    expect(merged).toMatchObject([{ id: 'any;-;+15550100', mac: 'h4' }]);
    const found = async (query: string): Promise<unknown> => (await hub.get(`/api/v1/conversations?${query}`)).json();
    expect(await found('q=5550100&junk=false&cursor=')).toHaveLength(1);
    expect(await found('q=nobody')).toEqual([]);
    expect(await found('cursor=of-a-mac')).toMatchObject({ code: 'invalid_cursor' });
  });

  test('pages of the merged list end with a link while they are full, and at 1,000 conversations with 400', async () => {
    await machine('l1', (request, response) => {
      const { searchParams } = new URL(request.url ?? '', 'http://mac');
      const rows = Array.from({ length: Number(searchParams.get('limit')) }, (_, index) => ({ id: `chat${index}` }));
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(rows));
    });
    const hub = await fleet.hub();
    await knows(hub, 1);
    const page = (query: string): Promise<Response> => hub.get(`/api/v1/conversations?${query}`);
    const first = await waitFor(async () => {
      const answer = await page('limit=200&offset=800');
      return ((await answer.json()) as readonly unknown[]).length === 200 && answer;
    });
    expect(first.headers.get('link')).toContain('offset=1000');
    const beyond = await page('limit=200&offset=1000');
    expect([beyond.status, await beyond.json()]).toMatchObject([400, { errors: [{ pointer: '?offset' }] }]);
  });

  test('a Mac whose list of conversations is too large is missing from the merged list', async () => {
    const chat = { id: 'any;-;+15550100', last_message_at: '2026-01-01T00:00:00Z' };
    const listing = (rows: readonly object[]): RequestListener => {
      const text = JSON.stringify(rows);
      return (_request, response) => void response.writeHead(200, { 'content-type': 'application/json' }).end(text);
    };
    await machine('g1', listing([chat]));
    await machine('g2', listing([{ ...chat, display_name: 'x'.repeat(5_000_000) }]));
    await machine('g3', listing(Array.from({ length: 300 }, () => chat)));
    const hub = await fleet.hub();
    await knows(hub, 3);
    const merged = await waitFor(async () => {
      const answer = await hub.get('/api/v1/conversations?limit=200');
      const rows = (await answer.json()) as { readonly mac: string }[];
      return (
        rows.some(({ mac }) => mac === 'g1') && {
          rows,
          partial: answer.headers.get('postern-partial')?.split(', '),
        }
      );
    });
    expect(merged.rows.map(({ mac }) => mac)).toEqual(['g1']);
    expect(merged.partial).toEqual(expect.arrayContaining(['g2', 'g3']));
  });

  test('a Mac that went away is 503 with since when', async () => {
    const one = await machine('h5', (_request, response) => void response.end());
    const hub = await fleet.hub();
    await knows(hub, 1);
    await one.stop();
    machines = [];
    const answer = await hub.get('/macs/h5/api/v1/messages');
    expect([answer.status, await answer.json()]).toMatchObject([503, { code: 'mac_away', mac: 'h5' }]);
  });

  test('the first machine of a pair answers while it is present, and a path can name the other', async () => {
    const first = await machine('h6', (_request, response) => void response.end('1'), { machine: 'one', sinceMs: 1 });
    await machine('h6', (_request, response) => void response.end('2'), { machine: 'two', sinceMs: 2 });
    const hub = await fleet.hub();
    await knows(hub, 2);
    const named = async (path: string) => {
      const answer = await hub.get(`/macs/h6${path}`);
      return [answer.status, answer.headers.get('postern-machine')];
    };
    expect(await named('/api/v1/messages')).toEqual([200, 'one']);
    expect(await named('/at/two/api/v1/messages/12')).toEqual([200, 'two']);
    await first.stop();
    await waitFor(async () => (await named('/api/v1/messages'))[1] === 'two');
    for (const path of OF_ONE_MACHINE) expect([path, ...(await named(path))]).toEqual([path, 409, null]);
    for (const path of OF_EACH_MACHINE) expect([path, ...(await named(path))]).toEqual([path, 200, 'two']);
  });

  test('a send under one key at two hubs at once reaches one machine of a pair, and moves only if nobody got it', async () => {
    const got: string[] = [];
    const sending = (name: string): RequestListener => {
      return (request, response) => {
        void bodyOf(request).then((body) => {
          got.push(`${name} ${String(request.headers['idempotency-key'])} ${body}`);
          response.writeHead(201, { 'content-type': 'application/json' }).end('{}');
        });
      };
    };
    const first = await machine('h7', sending('one'), { machine: 'one', sinceMs: 1 });
    await machine('h7', sending('two'), { machine: 'two', sinceMs: 2 });
    const hubs = [await fleet.hub(), await fleet.hub()] as const;
    for (const hub of hubs) await knows(hub, 2);
    const send = async (hub: Hub, key: string, path = 'messages') =>
      (await hub.post(`/macs/h7/api/v1/${path}`, { recipient: 'x', body: key }, { 'idempotency-key': key })).status;
    for (const path of SENDS) expect(await send(hubs[0], path, path)).toBe(201);
    const keys = Array.from({ length: 10 }, (_, index) => `k${index}`);
    const statuses = await Promise.all(keys.flatMap((key) => hubs.map((hub) => send(hub, key))));
    expect(new Set(statuses)).toEqual(new Set([201]));
    for (const key of keys) {
      const of = new Set(got.filter((line) => line.includes(` ${key} `)).map((line) => line.split(' ')[0]));
      expect([...of]).toEqual(['one']);
    }
    await first.stop();
    expect(await send(hubs[0], 'k0')).toBe(504);
    for (const path of SENDS) expect([path, await send(hubs[1], path, path)]).toEqual([path, 504]);
    expect([201, 504]).toContain(await send(hubs[0], 'new'));
    expect(got.filter((line) => line.includes(' new ')).length).toBe(1);
    expect(await send(hubs[1], 'new')).toBe(201);
    expect(new Set(got.filter((line) => line.includes(' new ')).map((line) => line.split(' ')[0]))).toEqual(
      new Set(['two']),
    );
  });

  test('a request without a key claims no Idempotency-Key of the owner', async () => {
    for (const [index, name] of ['one', 'two'].entries()) {
      const handle: RequestListener = (request, response) =>
        void response.writeHead(request.headers['x-api-key'] === undefined ? 401 : 201).end();
      await machine('h9', handle, { machine: name, sinceMs: index + 1 });
    }
    const hub = await fleet.hub();
    await knows(hub, 2);
    const headers = { 'idempotency-key': 'guessed' };
    const strange = await fetch(`${hub.url}/macs/h9/at/two/api/v1/messages`, { method: 'POST', headers });
    expect(strange.status).toBe(401);
    const own = await hub.post('/macs/h9/api/v1/messages', {}, headers);
    expect([own.status, own.headers.get('postern-machine')]).toEqual([201, 'one']);
  });

  test('what a Mac answers without a key counts at the hub, unless it comes with the key of the hub', async () => {
    await machine('c1', ({ url }, response) => void response.writeHead(url === '/x' ? 401 : 200).end('{}'));
    const hub = await fleet.hub();
    await knows(hub, 1);
    const left = async (): Promise<number> =>
      Number(/r=(\d+)/.exec((await hub.get('/api/v1/macs')).headers.get('ratelimit') ?? '')?.[1]);
    const before = await left();
    for (const path of ['/x', '/api/v1/health', '/api/v1/health/?q=1']) {
      await fetch(`${hub.url}/macs/c1${path}`, { headers: { 'x-api-key': 'made up' } });
    }
    expect(await left()).toBe(before - 4);
    await hub.get('/macs/c1/api/v1/health');
    expect(await left()).toBe(before - 5);
  });

  test('clients without the key of the hub leave requests of a Mac to others, however many answers they leave open', async () => {
    const more = Buffer.alloc(16_000_000);
    await machine('k1', ({ url }, response) => void response.end(url === '/x' ? '' : more));
    const hub = await fleet.hub();
    await knows(hub, 1);
    const open: Response[] = [];
    const statuses = async (key: string | undefined, count: number): Promise<readonly number[]> => {
      const headers = { ...(key !== undefined && { 'x-api-key': key }) };
      const ask = () => fetch(`${hub.url}/macs/k1/guide`, { headers });
      const answers = await Promise.all(Array.from({ length: count }, ask));
      open.push(...answers);
      return answers.map(({ status }) => status);
    };
    const admitted = (all: readonly number[]): number => all.filter((status) => status === 200).length;
    expect(admitted(await statuses(undefined, 64))).toBe(16);
    expect(await statuses('postern_limited', 1)).toEqual([200]);
    for (const key of ['a', 'b', 'c']) await statuses(key, 16);
    expect(await statuses('postern_limited', 1)).toEqual([503]);
    // A machine that is busy may acknowledge too late for one attempt.
    await waitFor(async () => (await hub.get('/macs/k1/x')).status === 200);
    for (const one of open) await one.body?.cancel();
    await waitFor(async () => (await fetch(`${hub.url}/macs/k1/x`)).status === 200);
  });
});
