import { createServer, request as httpRequest } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, test } from '@jest/globals';
import { systemClock } from '../../src/core/runtime/clock.ts';
import { readPublicDocument } from '../../src/features/oauth/public-document.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { KEY } from '../support/http-gateway.ts';
import { openIssuerHost } from '../support/issuer-host.ts';
import { consentOf, decide, ISSUER, OAuthProgram, officialClient, REDIRECT, toolsWith } from '../support/oauth.ts';

const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

const DOCUMENT = 'https://agent.example/client.json';

/** Opens a door that is closed after the test. */
async function door(options?: Parameters<typeof openIssuerHost>[0]) {
  const opened = await openIssuerHost(options);
  closers.push(opened.close);
  return opened;
}

const metadata = (more: object = {}) => ({
  client_id: DOCUMENT,
  client_name: 'Agent',
  redirect_uris: [REDIRECT],
  ...more,
});

describe('a client that is described by a document', () => {
  test('comes from 401 to the tools without a registration', async () => {
    const { tunnel } = await door({ documents: { [DOCUMENT]: metadata() } });
    const { tools, asked } = await officialClient(tunnel, { key: KEY }, DOCUMENT);
    expect(tools).toContain('whoami');
    expect(asked.searchParams.get('client_id')).toBe(DOCUMENT);
  });

  test.each([
    ['names another client', metadata({ client_id: 'https://other.example/client.json' })],
    ['lists no address', metadata({ redirect_uris: [] })],
    ['lists another address', metadata({ redirect_uris: ['https://other.example/callback'] })],
    ['is no object', 'text'],
    ['is not there', undefined],
  ])('is refused without a redirect when it %s', async (_name, document) => {
    const { tunnel } = await door({ documents: document === undefined ? {} : { [DOCUMENT]: document } });
    const program = new OAuthProgram(tunnel);
    program.clientId = DOCUMENT;
    const answer = await program.authorize();
    expect(answer.status).toBe(400);
    expect(answer.headers.get('location')).toBeNull();
  });

  test.each([
    'http://agent.example/x',
    'https://agent.example/',
    'https://a:b@agent.example/x',
    'https://agent.example/x#y',
  ])('is not asked for at %s', async (clientId) => {
    const { tunnel } = await door({ documents: { [clientId]: metadata({ client_id: clientId }) } });
    const program = new OAuthProgram(tunnel);
    program.clientId = clientId;
    expect((await program.authorize()).status).toBe(400);
  });
});

describe('a document', () => {
  const served = async (answer: Parameters<typeof createServer>[1]): Promise<URL> => {
    const server = createServer(answer).listen(0, '127.0.0.1');
    await new Promise((resolve) => server.once('listening', resolve));
    closers.push(() => {
      server.closeAllConnections();
      server.close();
    });
    return new URL(`http://localhost:${(server.address() as AddressInfo).port}/client.json`);
  };
  const read = (url: URL, isAddressAllowed: () => boolean = () => true) =>
    readPublicDocument(url, { clock: systemClock, isAddressAllowed, request: httpRequest });

  test('is read from an allowed address, and from no private one', async () => {
    let asked = 0;
    const url = await served((_request, response) => {
      asked += 1;
      response.end('{"a":1}');
    });
    expect(await read(url)).toEqual({ a: 1 });
    await expect(readPublicDocument(url, { clock: systemClock, request: httpRequest })).rejects.toThrow('private');
    const literal = new URL(url.href.replace('localhost', '127.0.0.1'));
    await expect(readPublicDocument(literal, { clock: systemClock, request: httpRequest })).rejects.toThrow('private');
    expect(asked).toBe(1);
  });

  test('is not followed, not taken above 64 KB, and must be JSON', async () => {
    const target = await served((_request, response) => void response.end('{}'));
    const redirect = await served(
      (_request, response) => void response.writeHead(302, { location: target.href }).end(),
    );
    await expect(read(redirect)).rejects.toThrow('302');
    const large = await served((_request, response) => void response.end(`"${'x'.repeat(70_000)}"`));
    await expect(read(large)).rejects.toThrow('64 KB');
    const text = await served((_request, response) => void response.end('<html>'));
    await expect(read(text)).rejects.toThrow(SyntaxError);
  });

  test('that cannot be reached says nothing of addresses and ports', async () => {
    const url = await served((_request, response) => void response.socket?.destroy());
    await expect(read(url)).rejects.toThrow(/^it cannot be reached$/);
    const broken = await served((_request, response) => {
      response.writeHead(200, { 'content-length': '9' });
      response.write('{', () => response.socket?.destroy());
    });
    await expect(read(broken)).rejects.toThrow(/^it cannot be reached$/);
  });

  test('is not waited for longer than 5 s', async () => {
    const clock = new FakeClock();
    const url = await served(() => {});
    const reading = readPublicDocument(url, { clock, isAddressAllowed: () => true, request: httpRequest });
    const failed = expect(reading).rejects.toThrow('within 5 s');
    await clock.advance(5000);
    await failed;
  });
});

describe('a client that names no redirect address', () => {
  const none = { redirect_uri: '' };

  test('gets its code at its only address, and tokens for the code', async () => {
    const { tunnel, revoked } = await door();
    const program = await OAuthProgram.registered(tunnel);
    const consent = consentOf(await (await program.authorize(none)).text());
    const to = new URL((await decide(tunnel, consent, { key: KEY })).headers.get('location') ?? '');
    expect(to.href).toMatch(`${REDIRECT}?code=`);
    const answer = await program.redeem(to.searchParams.get('code') ?? '', none);
    expect([answer.status, revoked]).toEqual([200, []]);
  });

  test('must name one of several; a wrong one at the token endpoint revokes the key', async () => {
    const { tunnel, revoked } = await door();
    const program = await OAuthProgram.registered(tunnel, { redirect_uris: [REDIRECT, `${REDIRECT}/other`] });
    expect((await program.authorize(none)).status).toBe(400);
    const answer = await program.redeem(await program.code(KEY), { redirect_uri: `${REDIRECT}/other` });
    expect([answer.status, revoked]).toEqual([400, ['key1']]);
  });
});

describe('what is open', () => {
  test('ends: consents after 10 minutes, codes after one, access after an hour', async () => {
    const { tunnel, clock, revoked } = await door();
    const program = await OAuthProgram.registered(tunnel);
    const consent = consentOf(await (await program.authorize()).text());
    await clock.advance(10 * 60_000);
    expect((await decide(tunnel, consent, { key: KEY })).status).toBe(400);
    const code = await program.code(KEY);
    await clock.advance(60_000);
    expect((await program.redeem(code)).status).toBe(400);
    expect(revoked).toEqual(['key1']);
    const again = await program.code(KEY);
    const { access_token: token } = (await (await program.redeem(again)).json()) as { access_token: string };
    expect((await toolsWith(tunnel, token)).status).toBe(200);
    await clock.advance(3_600_000);
    expect((await toolsWith(tunnel, token)).status).toBe(401);
  });

  test('and never redeemed leaves no key', async () => {
    const { tunnel, clock, revoked } = await door();
    const program = await OAuthProgram.registered(tunnel);
    await program.consent({ key: KEY });
    await clock.advance(60_000);
    await program.consent({ key: KEY });
    expect(revoked).toEqual(['key1']);
  });

  test('is at most 20 consents, of which the oldest gives way', async () => {
    const { tunnel } = await door();
    const program = await OAuthProgram.registered(tunnel);
    const first = consentOf(await (await program.authorize()).text());
    for (let at = 0; at < 19; at += 1) await program.authorize();
    const later = consentOf(await (await program.authorize()).text());
    expect((await decide(tunnel, first, { key: KEY })).status).toBe(400);
    expect((await decide(tunnel, later, { key: KEY })).status).toBe(303);
  });

  test('is at most 100 clients, of which those with a grant stay', async () => {
    const { tunnel } = await door();
    const { program: kept } = await OAuthProgram.allowed(tunnel, KEY);
    const second = await OAuthProgram.registered(tunnel);
    for (let at = 0; at < 99; at += 1) expect((await new OAuthProgram(tunnel).register()).status).toBe(201);
    expect((await kept.authorize()).status).toBe(200);
    expect((await second.authorize()).status).toBe(400);
  });
});

test("strangers use up their own limit, and not the owner's", async () => {
  const { tunnel, gateway } = await door({ rateLimitPerMinute: 10 });
  const statuses = [];
  for (let at = 0; at < 8; at += 1) statuses.push((await toolsWith(tunnel, 'x')).status);
  expect(statuses).toEqual([401, 401, 401, 401, 401, 429, 429, 429]);
  const own = [];
  for (let at = 0; at < 11; at += 1) own.push((await gateway.get('/api/v1/messages')).status);
  expect(own).toEqual([...Array.from({ length: 10 }, () => 200), 429]);
});

test.each(['oauth-protected-resource', 'oauth-protected-resource/mcp', 'oauth-authorization-server'])(
  'HEAD of %s has the headers of GET',
  async (name) => {
    const { tunnel } = await door();
    const [head, get] = [
      await tunnel(`${ISSUER}/.well-known/${name}`, { method: 'HEAD' }),
      await tunnel(`${ISSUER}/.well-known/${name}`),
    ];
    expect([head.status, await head.text()]).toEqual([200, '']);
    for (const header of ['content-type', 'content-length']) {
      expect(head.headers.get(header)).toBe(get.headers.get(header));
    }
  },
);

test("a program on the person's machine may answer at any port of its address", async () => {
  const { tunnel } = await door();
  const program = await OAuthProgram.registered(tunnel, { redirect_uris: ['http://127.0.0.1/callback'] });
  expect((await program.authorize({ redirect_uri: 'http://127.0.0.1:49152/callback' })).status).toBe(200);
  expect((await program.authorize({ redirect_uri: 'http://127.0.0.1:49152/other' })).status).toBe(400);
  expect((await program.authorize({ redirect_uri: 'http://127.0.0.1.evil.example/callback' })).status).toBe(400);
});
