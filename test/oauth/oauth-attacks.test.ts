import { once } from 'node:events';
import { connect } from 'node:net';
import { afterEach, describe, expect, test } from '@jest/globals';
import { refreshAuthorization } from '@modelcontextprotocol/sdk/client/auth.js';
import { InvalidClientError } from '@modelcontextprotocol/sdk/server/auth/errors.js';
import { eventually } from '../support/eventually.ts';
import { KEY } from '../support/http-gateway.ts';
import { openIssuerHost } from '../support/issuer-host.ts';
import { consentOf, decide, ISSUER, OAuthProgram, REDIRECT, type Tokens, toolsWith } from '../support/oauth.ts';

const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

/** Opens a door that is closed after the test. */
async function door(options?: Parameters<typeof openIssuerHost>[0]) {
  const opened = await openIssuerHost(options);
  closers.push(opened.close);
  return opened;
}

async function json<Answer>(response: Promise<Response>): Promise<Answer> {
  return (await (await response).json()) as Answer;
}

const registration = (redirectUri: string): object => ({ client_name: 'Agent', redirect_uris: [redirectUri] });

describe('a stranger who writes the Host himself', () => {
  test.each([
    'messages.example',
    'messages.example:80',
    'messages.example:8443',
    'MESSAGES.example.:',
    'messages.example.',
  ])('reaches nothing of the API as %s, even if the configuration allows that name', async (host) => {
    const { gateway } = await door({ allowedHosts: ['messages.example'] });
    expect((await gateway.get('/api/v1/messages', { headers: { host } })).status).toBe(404);
    expect((await gateway.get('/oauth/authorize', { headers: { host }, key: false })).status).toBe(400);
  });

  test.each(['close', 'Upgrade\r\nUpgrade: h2c', 'Upgrade\r\nUpgrade: websocket'])(
    'reaches nothing of it by a target that names this machine, with Connection: %j',
    async (connection) => {
      const { gateway } = await door();
      const lines = [
        'GET http://localhost/api/v1/messages HTTP/1.1',
        `Host: ${new URL(ISSUER).host}`,
        `X-API-Key: ${Buffer.from(KEY).toString('latin1')}`,
        `Connection: ${connection}`,
      ];
      const socket = connect(gateway.port, '127.0.0.1');
      closers.push(() => socket.destroy());
      socket.write(Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1'));
      const [answer] = (await once(socket, 'data')) as [Buffer];
      expect(answer.toString('latin1', 0, 12)).toBe('HTTP/1.1 404');
    },
  );
});

describe('a stranger who asks often', () => {
  const LIMIT = { rateLimitPerMinute: 10 };

  test('leaves programs with a token their tools, and the owner the API', async () => {
    const { tunnel, gateway } = await door({ rateLimitPerMinute: 20 });
    const { tokens } = await OAuthProgram.allowed(tunnel, KEY);
    const answers = [];
    for (let at = 0; at < 12; at += 1) answers.push((await toolsWith(tunnel, 'x')).status);
    expect(answers.slice(-2)).toEqual([429, 429]);
    expect((await toolsWith(tunnel, tokens.access_token)).status).toBe(200);
    expect((await gateway.get('/api/v1/messages')).status).toBe(200);
  });

  test('by the browser of somebody who follows a link uses up nothing, and reaches the consent page', async () => {
    const { gateway } = await door(LIMIT);
    const host = new URL(ISSUER).host;
    const link = { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document' };
    const ask = async (path: string, headers: object = link) =>
      (await gateway.get(path, { headers: { host, ...headers }, key: false })).status;
    for (let at = 0; at < 12; at += 1) {
      expect(await ask('/mcp')).toBe(403);
      expect(await ask('/.well-known/oauth-authorization-server')).toBe(403);
      expect(await ask('/oauth/authorize', { ...link, 'sec-fetch-mode': 'no-cors', 'sec-fetch-dest': 'image' })).toBe(
        403,
      );
    }
    // The consent page says that the client is unknown.
    expect(await ask('/oauth/authorize')).toBe(400);
  });

  test('for what does not exist leaves others able to sign in', async () => {
    const { tunnel } = await door(LIMIT);
    for (let at = 0; at < 20; at += 1) expect((await tunnel(`${ISSUER}/wp-login.php?${at}`)).status).toBe(404);
    expect((await new OAuthProgram(tunnel).register()).status).toBe(201);
  });

  test('and sends half a request uses up nothing of the owner', async () => {
    const { gateway } = await door();
    const form = 'Content-Type: application/x-www-form-urlencoded\r\nContent-Length: 9';
    const incomplete = `POST /oauth/token HTTP/1.1\r\nHost: ${new URL(ISSUER).host}\r\n${form}\r\n\r\n`;
    for (let at = 0; at < 260; at += 1) {
      const client = connect(gateway.port, '127.0.0.1');
      client.on('error', () => {});
      client.write(incomplete);
      closers.push(() => client.destroy());
    }
    const stranger = { headers: { host: new URL(ISSUER).host }, key: false };
    await eventually(async () => expect((await gateway.get('/oauth/authorize', stranger)).status).toBe(503));
    const { headers } = await gateway.get('/api/v1/messages');
    const left = Number(/r=(\d+)/.exec(String(headers.ratelimit))?.[1]);
    for (let at = 0; at < 5; at += 1) await gateway.get('/oauth/authorize', stranger);
    expect((await gateway.get('/api/v1/health', { key: false })).status).toBe(200);
    const after = await gateway.get('/api/v1/messages');
    expect(Number(/r=(\d+)/.exec(String(after.headers.ratelimit))?.[1])).toBeGreaterThanOrEqual(left - 2);
  });

  test('with a large body is refused before it is parsed', async () => {
    const { tunnel } = await door();
    const answer = await new OAuthProgram(tunnel).register({ redirect_uris: [REDIRECT], x: 'x'.repeat(70_000) });
    expect(answer.status).toBe(413);
    expect(await answer.text()).toContain('64 KiB');
  });
});

describe('the consent page', () => {
  test.each([
    ['com.evil.app://claude.ai/callback', 'com.evil.app:', 'claude.ai'],
    ['http://127.0.0.1:7/callback', 'http://127.0.0.1:7', '<code>127.0.0.1:7</code>'],
  ])('shows that %s is a program on this computer, whatever host stands in it', async (uri, shown, hidden) => {
    const { tunnel } = await door();
    const program = await OAuthProgram.registered(tunnel, registration(uri));
    const page = await (await program.authorize({ redirect_uri: uri })).text();
    expect(page).toContain(`a program on the computer you are sitting at (<code>${shown}</code>)`);
    expect(page).not.toContain(hidden);
  });

  test('shows characters of a name that nobody sees', async () => {
    const { tunnel } = await door();
    const name = 'Clau\u2800\u3164de\u200b';
    const program = await OAuthProgram.registered(tunnel, { client_name: name, redirect_uris: [REDIRECT] });
    expect(await (await program.authorize()).text()).toContain('Clau⟨U+2800⟩⟨U+3164⟩de⟨U+200B⟩');
  });

  test('lets the browser say which page posts the form, or the form could not be posted', async () => {
    const { tunnel } = await door();
    const answer = await (await OAuthProgram.registered(tunnel)).authorize();
    expect(answer.headers.get('referrer-policy')).toBe('same-origin');
    expect(await answer.text()).not.toContain('no-referrer');
  });

  test('tries five keys, no matter how many arrive at once', async () => {
    const { tunnel, clock } = await door();
    const program = await OAuthProgram.registered(tunnel);
    const consent = consentOf(await (await program.authorize()).text());
    const answered: number[] = [];
    const guesses = Array.from({ length: 8 }, async (_, at) => {
      const { status } = await decide(tunnel, consent, { key: `guess ${at}` });
      answered.push(status);
    });
    // The five attempts each wait for a second.
    await eventually(() => expect(answered).toEqual([400, 400, 400]));
    expect((await decide(tunnel, consent, { key: KEY })).status).toBe(400);
    await clock.advance(1000);
    await Promise.all(guesses);
    expect(answered.slice(3).sort()).toEqual([400, 401, 401, 401, 401]);
  });

  test('lets 32 wrong keys wait, no matter how many consents are open', async () => {
    const { tunnel, clock } = await door();
    const program = await OAuthProgram.registered(tunnel);
    const answered: number[] = [];
    const guesses: Promise<unknown>[] = [];
    for (let question = 0; question < 10; question += 1) {
      const consent = consentOf(await (await program.authorize()).text());
      for (let at = 0; at < 4; at += 1) {
        guesses.push(decide(tunnel, consent, { key: `guess ${at}` }).then(({ status }) => answered.push(status)));
      }
    }
    await eventually(() => expect(answered).toHaveLength(8));
    await clock.advance(999);
    expect(answered).toHaveLength(8);
    await clock.advance(1);
    await Promise.all(guesses);
    expect(answered).toEqual(Array.from({ length: 40 }, () => 401));
  });

  test.each([
    [{ response_type: 'token' }, 'response_type'],
    [{ code_challenge_method: 'plain' }, 'S256'],
    [{ code_challenge: 'short' }, 'S256'],
    [{ resource: 'https://other.example/mcp' }, '`resource` must be'],
  ])('redirects nobody for a request with %j, which anybody could make point anywhere', async (changes, sentence) => {
    const { tunnel } = await door();
    const answer = await (await OAuthProgram.registered(tunnel)).authorize(changes);
    expect([answer.status, answer.headers.get('location')]).toEqual([400, null]);
    expect(await answer.text()).toContain(sentence);
  });

  test('makes one key of two clicks', async () => {
    const { tunnel } = await door();
    const program = await OAuthProgram.registered(tunnel);
    const consent = consentOf(await (await program.authorize()).text());
    const both = await Promise.all([decide(tunnel, consent, { key: KEY }), decide(tunnel, consent, { key: KEY })]);
    expect(both.map(({ status }) => status).sort()).toEqual([303, 400]);
  });

  test('names a list that is too long instead of cutting it', async () => {
    const { tunnel } = await door();
    const program = await OAuthProgram.registered(tunnel);
    const consent = consentOf(await (await program.authorize()).text());
    const people = Array.from({ length: 201 }, (_, at) => `+1555010${at}`).join('\n');
    const answer = await decide(tunnel, consent, { key: KEY, people });
    expect(answer.status).toBe(200);
    expect(await answer.text()).toContain('at most 200 people. There are 201');
  });
});

describe('a registration', () => {
  test.each([
    'https://x;frame-ancestors',
    'https://*.example/callback',
    'https://a,b.example/callback',
    'mailto:someone@evil.example',
    'sms:+15550100',
    'shortcuts://run-shortcut',
    'x-apple.systempreferences:com.apple.preference.security',
    'view-source:https://agent.example',
    ...[
      'applescript',
      'swiftbar',
      'xbar',
      'ssh',
      'telnet',
      'x-man-page',
      'smb',
      'vnc',
      'help',
      'terminal',
      'agent',
    ].map((scheme) => `${scheme}://callback`),
    'com.apple.example:/callback',
    'com.:/callback',
  ])('with the address %s is refused', async (uri) => {
    const { tunnel } = await door();
    const answer = await new OAuthProgram(tunnel).register(registration(uri));
    expect(await answer.json()).toMatchObject({ error: 'invalid_redirect_uri' });
  });

  test.each([
    'cursor://anysphere.cursor-mcp/oauth/callback',
    'vscode-insiders://callback',
    'com.example.agent:/callback',
    'http://[::1]/callback',
  ])('of a program with the address %s is taken', async (uri) => {
    const { tunnel } = await door();
    expect((await new OAuthProgram(tunnel).register(registration(uri))).status).toBe(201);
  });
});

describe('a program that is refused', () => {
  test.each([
    ['cursor://callback', 200, null],
    ['com.example.agent:/callback', 200, null],
    ['http://127.0.0.1:7777/callback', 303, 'http://127.0.0.1:7777/callback?error=access_denied'],
    ['https://agent.example/callback', 303, 'https://agent.example/callback?error=access_denied'],
  ])('and waits at %s is redirected there only if that is a web address', async (uri, status, location) => {
    const { tunnel } = await door();
    const program = await OAuthProgram.registered(tunnel, registration(uri));
    const consent = consentOf(await (await program.authorize({ redirect_uri: uri })).text());
    const answer = await decide(tunnel, consent, { key: '', decision: 'deny' });
    const to = answer.headers.get('location');
    expect([answer.status, to === null ? null : to.slice(0, location?.length)]).toEqual([status, location]);
    if (status === 200) expect(await answer.text()).toContain('got no access');
    expect((await decide(tunnel, consent, { key: KEY })).status).toBe(400);
  });
});

describe('a client that nobody knows', () => {
  test('is refused as unknown at the token endpoint, so that it registers again', async () => {
    const { tunnel } = await door();
    const { program, tokens } = await OAuthProgram.allowed(tunnel, KEY);
    const stranger = new OAuthProgram(tunnel);
    for (const id of ['', 'unknown', 'http://agent.example/client', 'https://agent.example/']) {
      stranger.clientId = id;
      for (const answer of [await stranger.refresh(tokens.refresh_token), await stranger.redeem('code')]) {
        expect([answer.status, await answer.json()]).toEqual([
          401,
          expect.objectContaining({ error: 'invalid_client' }),
        ]);
      }
    }
    // A client with a document is not registered, so its tokens decide.
    stranger.clientId = 'https://agent.example/client.json';
    expect(await json(stranger.refresh(tokens.refresh_token))).toMatchObject({ error: 'invalid_grant' });
    expect((await program.refresh(tokens.refresh_token)).status).toBe(200);
  });

  test('is an InvalidClientError to the official client', async () => {
    const { tunnel } = await door();
    const refreshed = refreshAuthorization(ISSUER, {
      metadata: await json(tunnel(`${ISSUER}/.well-known/oauth-authorization-server`)),
      clientInformation: { client_id: 'of an earlier state.db' },
      refreshToken: 'old',
      fetchFn: tunnel,
    });
    await expect(refreshed).rejects.toBeInstanceOf(InvalidClientError);
  });
});

describe('a body that cannot be read', () => {
  test.each([
    ['register', 'application/json', '{"redirect_uris":', 'invalid_client_metadata'],
    ['register', 'application/json', '', 'invalid_client_metadata'],
    ['register', 'text/plain', '{}', 'invalid_client_metadata'],
    ['token', 'application/json', '{}', 'invalid_request'],
    ['token', 'application/x-www-form-urlencoded', Buffer.from([0xff]), 'invalid_request'],
    ['revoke', 'application/json', '{}', 'invalid_request'],
    ['revoke', 'application/x-www-form-urlencoded', 'tokn=access_x', 'invalid_request'],
  ])('at /oauth/%s, as %s: %j, has an error of OAuth', async (path, type, body, error) => {
    const { tunnel } = await door();
    const headers = { 'content-type': type };
    const answer = await tunnel(`${ISSUER}/oauth/${path}`, { method: 'POST', headers, body });
    expect([answer.status, await answer.json()]).toEqual([400, { error, error_description: expect.any(String) }]);
  });
});

test('a form that comes as JSON is told to be a form', async () => {
  const { tunnel } = await door();
  const headers = { 'content-type': 'application/json' };
  const answer = tunnel(`${ISSUER}/oauth/token`, { method: 'POST', headers, body: '{}' });
  expect(await json(answer)).toMatchObject({ error_description: expect.stringMatching(/must be a form/) });
});

describe('a parameter that comes twice', () => {
  test('is refused everywhere, because two readers would take different ones', async () => {
    const { tunnel } = await door();
    const program = await OAuthProgram.registered(tunnel);
    const twice = await tunnel(`${ISSUER}/oauth/authorize?client_id=${program.clientId}&client_id=x`);
    expect([twice.status, await twice.text()]).toEqual([400, expect.stringContaining('twice')]);
    const post = (path: string, body: string) =>
      tunnel(`${ISSUER}${path}`, { method: 'POST', body: new URLSearchParams(body) });
    for (const path of ['/oauth/token', '/oauth/revoke']) {
      expect(await json(post(path, 'token=a&token=b'))).toMatchObject({ error: 'invalid_request' });
    }
    expect((await post('/oauth/authorize', 'consent=a&consent=b')).status).toBe(400);
  });
});

describe('a stolen refresh token', () => {
  test('ends its key when the other one uses theirs, no matter how often it was rotated meanwhile', async () => {
    const { tunnel, revoked } = await door();
    const { program, tokens } = await OAuthProgram.allowed(tunnel, KEY);
    let stolen = tokens;
    for (let time = 0; time < 3; time += 1) stolen = await json<Tokens>(program.refresh(stolen.refresh_token));
    expect((await toolsWith(tunnel, stolen.access_token)).status).toBe(200);
    expect((await program.refresh(tokens.refresh_token)).status).toBe(400);
    expect(revoked).toEqual(['key1']);
    expect((await toolsWith(tunnel, stolen.access_token)).status).toBe(401);
    // Its tokens are forgotten together with the key.
    expect((await program.refresh(tokens.refresh_token)).status).toBe(400);
    expect(revoked).toEqual(['key1']);
  });

  test('ends its key when it is revoked, although it was replaced meanwhile', async () => {
    const { tunnel, revoked } = await door();
    const { program, tokens } = await OAuthProgram.allowed(tunnel, KEY);
    const { access_token: newest } = await json<Tokens>(program.refresh(tokens.refresh_token));
    const body = new URLSearchParams({ token: tokens.refresh_token });
    expect((await tunnel(`${ISSUER}/oauth/revoke`, { method: 'POST', body })).status).toBe(200);
    expect([revoked, (await toolsWith(tunnel, newest)).status]).toEqual([['key1'], 401]);
  });

  test('gives nothing once its key was revoked', async () => {
    const { tunnel, revoked } = await door();
    const { program, tokens } = await OAuthProgram.allowed(tunnel, KEY);
    revoked.push('key1');
    expect(await json(program.refresh(tokens.refresh_token))).toMatchObject({ error: 'invalid_grant' });
  });

  test('cannot be made up to end another key', async () => {
    const { tunnel, revoked } = await door();
    const { program } = await OAuthProgram.allowed(tunnel, KEY);
    for (const token of ['', 'refresh_', `refresh_${'A'.repeat(65)}`, `refresh_${'A'.repeat(43)}`]) {
      expect((await program.refresh(token)).status).toBe(400);
    }
    expect(revoked).toEqual([]);
  });
});

test('a code that nobody redeemed before the service ended leaves no key', async () => {
  const first = await door();
  await (await OAuthProgram.registered(first.tunnel)).code(KEY);
  await first.close();
  closers.pop();
  const { tunnel, clock, revoked } = await door({ folder: first.folder });
  await clock.advance(60_000);
  await (await OAuthProgram.registered(tunnel)).authorize();
  expect(revoked).toEqual(['key1']);
});
