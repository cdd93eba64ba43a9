import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { KeyRecord } from '../../src/client/key-types.ts';
import {
  consentOf,
  decide,
  ISSUER,
  OAuthProgram,
  officialClient,
  REDIRECT,
  type Tokens,
  toolsWith,
  tunnelTo,
} from '../support/oauth.ts';
import { KEY, Service } from '../support/service.ts';
import { simulatedMac } from '../support/simulated-mac.ts';

const ANA = '+15550100';

let mac: Awaited<ReturnType<typeof simulatedMac>>;
let service: Service;
let tunnel: typeof fetch;

beforeAll(async () => {
  mac = await simulatedMac();
  await mac.command({ do: 'receive', from: ANA, text: 'before' });
  service = await Service.here({
    chatDbPath: mac.chatDbPath,
    osascriptPath: mac.osascriptPath,
    settings: { oauth: { issuer: ISSUER } },
  });
  tunnel = tunnelTo(service.port);
});
afterAll(async () => {
  await service.dispose();
  await mac.dispose();
});

async function keys(): Promise<readonly KeyRecord[]> {
  return (await service.get('/keys')).json as readonly KeyRecord[];
}

const registered = (metadata?: object): Promise<OAuthProgram> => OAuthProgram.registered(tunnel, metadata);
const allowed = (): ReturnType<typeof OAuthProgram.allowed> => OAuthProgram.allowed(tunnel, KEY);

describe('the official client', () => {
  test('comes from 401 to the tools of a limited key, which the owner sees and revokes', async () => {
    const { tools, page, accessToken } = await officialClient(tunnel, { key: KEY });
    expect(tools).toEqual(expect.arrayContaining(['messages_read', 'messages_send']));
    expect(page).toContain('Official client');
    expect(page).toContain('agent.example');
    const key = (await keys()).find(({ name }) => name === 'Official client');
    expect(key).toMatchObject({ read: [ANA], send: [ANA], approval: 'always', scopes: ['read', 'events', 'send'] });
    expect(Date.parse(key?.expires_at ?? '') - Date.now()).toBeLessThan(91 * 86_400_000);
    expect((await toolsWith(tunnel, accessToken)).status).toBe(200);
    expect((await keys()).find(({ id }) => id === key?.id)?.last_used_at).not.toBeNull();
    await service.request('DELETE', `/keys/${key?.id ?? ''}`);
    const refused = await toolsWith(tunnel, accessToken);
    expect(refused.status).toBe(401);
    expect(refused.headers.get('www-authenticate')).toContain('error="invalid_token"');
  });
});

test('a program that the owner allows as a reader gets a key that may write to nobody', async () => {
  const metadata = { client_name: 'Only a reader', redirect_uris: [REDIRECT] };
  await (await registered(metadata)).consent({ key: KEY, preset: 'reader' });
  const key = (await keys()).find(({ name }) => name === 'Only a reader');
  expect(key).toMatchObject({ read: [ANA], send: [], scopes: ['read', 'events'] });
});

describe('at the address of the issuer', () => {
  test.each([
    ['GET', '/'],
    ['GET', '/console'],
    ['GET', '/api/v1/health'],
    ['GET', '/api/v1/messages'],
    ['GET', '/api/v1/ws'],
    ['GET', '/metrics'],
    ['GET', '/openapi.json'],
    ['POST', '/console/sign-in'],
    ['GET', '/oauth/nothing'],
    ['POST', '/api/v1/keys'],
  ])('%s %s does not exist, with whatever key', async (method, path) => {
    const answer = await tunnel(ISSUER + path, { method, headers: { 'x-api-key': KEY } });
    expect(answer.status).toBe(404);
  });

  test("no key is taken, the owner's least of all", async () => {
    const { key } = (await service.post('/keys', { name: 'k', preset: 'reader', read: [ANA] })).json as { key: string };
    for (const headers of [{ 'x-api-key': KEY }, { 'x-api-key': key }, { authorization: `Bearer ${key}` }]) {
      const answer = await toolsWith(tunnel, '', headers);
      expect(answer.status).toBe(401);
      expect(answer.headers.get('www-authenticate')).toBe(
        `Bearer resource_metadata="${ISSUER}/.well-known/oauth-protected-resource/mcp", scope="read events"${'authorization' in headers ? ', error="invalid_token"' : ''}`,
      );
    }
  });

  test('an access token is good for /mcp there alone', async () => {
    const { tokens } = await allowed();
    const bearer = { authorization: `Bearer ${tokens.access_token}` };
    expect((await toolsWith(tunnel, tokens.access_token)).status).toBe(200);
    for (const path of ['/messages', '/keys/me', '/status']) {
      expect((await service.get(path, { 'x-api-key': tokens.access_token })).status).toBe(401);
      expect((await fetch(`${service.url}${path}`, { headers: bearer })).status).toBe(401);
    }
    const local = await fetch(`http://127.0.0.1:${service.port}/mcp`, { method: 'POST', headers: bearer, body: '{}' });
    expect(local.status).toBe(401);
  });

  test('forwarded headers decide nothing', async () => {
    const forwarded = {
      'x-forwarded-host': 'localhost',
      forwarded: 'host=localhost;for=127.0.0.1',
      'x-real-ip': '127.0.0.1',
    };
    const answer = await tunnel(`${ISSUER}/api/v1/messages`, { headers: { ...forwarded, 'x-api-key': KEY } });
    expect(answer.status).toBe(404);
    const local = await fetch(`${service.url}/messages`, {
      headers: { 'x-forwarded-host': 'messages.example', 'x-api-key': KEY },
    });
    expect(local.status).toBe(200);
  });

  test('a page of another origin is refused', async () => {
    const answer = await toolsWith(tunnel, 'x', { origin: 'https://evil.example' });
    expect(answer.status).toBe(403);
  });
});

describe('the consent page', () => {
  test('cannot be framed, runs nothing, and posts only here', async () => {
    const answer = await (await registered()).authorize();
    expect(answer.headers.get('x-frame-options')).toBe('DENY');
    const policy = answer.headers.get('content-security-policy');
    expect(policy).toMatch(
      /^default-src 'none'; style-src 'sha256-[^']+'; form-action 'self' https:\/\/agent\.example; /,
    );
    expect(policy).toContain("frame-ancestors 'none'");
    expect(answer.headers.get('cache-control')).toBe('no-store');
    expect(await answer.text()).not.toContain('<script');
  });

  test('shows a hostile name as text', async () => {
    const program = await registered({
      client_name: '<script>alert(1)</script>"\u202egnp',
      redirect_uris: [REDIRECT],
    });
    const page = await (await program.authorize()).text();
    expect(page).not.toContain('<script');
    expect(page).toContain('⟨U+202E⟩');
  });

  test('refuses, names mistakes, and takes a wrong key five times', async () => {
    const program = await registered();
    const refused = await program.consent({ key: '', decision: 'deny' });
    expect(Object.fromEntries(refused.searchParams)).toEqual({ error: 'access_denied', state: 'a state', iss: ISSUER });
    const before = (await keys()).length;
    const consent = consentOf(await (await program.authorize()).text());
    const mistaken = await decide(tunnel, consent, { key: KEY, people: '555' });
    expect(mistaken.status).toBe(200);
    expect(await mistaken.text()).toContain('555: An entry must be a complete number');
    const wrong = [];
    for (let time = 0; time < 5; time += 1) wrong.push((await decide(tunnel, consent, { key: 'guess' })).status);
    expect(wrong).toEqual([401, 401, 401, 401, 400]);
    expect((await decide(tunnel, consent, { key: KEY })).status).toBe(400);
    expect((await keys()).length).toBe(before);
    expect(service.output).not.toContain('guess');
  });

  test('redirects nobody to an address that the program did not register', async () => {
    const program = await registered();
    for (const uri of ['https://evil.example/callback', `${REDIRECT}/more`, `${REDIRECT}?x=1`, 'javascript:alert(1)']) {
      const answer = await program.authorize({ redirect_uri: uri });
      expect(answer.status).toBe(400);
      expect(answer.headers.get('location')).toBeNull();
    }
    expect((await program.authorize({ client_id: 'unknown' })).status).toBe(400);
  });
});

describe('a code', () => {
  test.each([
    ['another verifier', { code_verifier: 'a'.repeat(43) }, 'invalid_grant'],
    ['no verifier', { code_verifier: '' }, 'invalid_grant'],
    ['another address', { redirect_uri: 'https://agent.example/other' }, 'invalid_grant'],
    ['another client', { client_id: 'https://agent.example/client.json' }, 'invalid_grant'],
    ['an unknown client', { client_id: 'someone' }, 'invalid_client'],
  ])('is worth nothing with %s, and then nothing at all', async (_name, changes, error) => {
    const program = await registered();
    const code = await program.code(KEY);
    expect(await (await program.redeem(code, changes)).json()).toMatchObject({ error });
    expect((await program.redeem(code)).status).toBe(400);
  });

  test('that comes twice ends the key that it gave', async () => {
    const program = await registered();
    const code = await program.code(KEY);
    const { access_token: token } = (await (await program.redeem(code)).json()) as Tokens;
    expect((await toolsWith(tunnel, token)).status).toBe(200);
    expect((await program.redeem(code)).status).toBe(400);
    expect((await toolsWith(tunnel, token)).status).toBe(401);
  });

  test('of another resource is refused', async () => {
    const program = await registered();
    const code = await program.code(KEY);
    expect(await (await program.redeem(code, { resource: 'https://other.example/mcp' })).json()).toMatchObject({
      error: 'invalid_target',
    });
  });
});

describe('a refresh token', () => {
  test('rotates, and a spent one ends everything', async () => {
    const { program, tokens } = await allowed();
    const second = (await (await program.refresh(tokens.refresh_token)).json()) as Tokens;
    expect((await toolsWith(tunnel, tokens.access_token)).status).toBe(401);
    expect((await toolsWith(tunnel, second.access_token)).status).toBe(200);
    expect((await program.refresh(tokens.refresh_token)).status).toBe(400);
    expect((await toolsWith(tunnel, second.access_token)).status).toBe(401);
    expect((await program.refresh(second.refresh_token)).status).toBe(400);
  });

  test("survives a restart, and is nobody else's", async () => {
    await service.becomeProcess();
    const { program, tokens } = await allowed();
    await service.kill();
    await service.launch();
    const fields = { grant_type: 'refresh_token', refresh_token: tokens.refresh_token };
    expect((await program.token({ ...fields, client_id: 'someone' })).status).toBe(401);
    expect((await program.token(fields)).status).toBe(200);
  });

  test('and its key end with a revocation, which is never an error', async () => {
    const { program, tokens } = await allowed();
    const before = (await keys()).length;
    const revoke = (token: string) =>
      tunnel(`${ISSUER}/oauth/revoke`, { method: 'POST', body: new URLSearchParams({ token }) });
    expect((await revoke(tokens.refresh_token)).status).toBe(200);
    expect((await keys()).length).toBe(before - 1);
    expect((await toolsWith(tunnel, tokens.access_token)).status).toBe(401);
    expect((await program.token({ grant_type: 'refresh_token', refresh_token: tokens.refresh_token })).status).toBe(
      400,
    );
    expect((await revoke('nonsense')).status).toBe(200);
  });
});

test('a registration with addresses that a browser would run is refused', async () => {
  const bad = [
    ['javascript:alert(1)'],
    ['data:text/html,x'],
    ['http://evil.example/'],
    ['https://a.example/#x'],
    [],
    'x',
    [7],
  ];
  for (const uris of bad) {
    const answer = await new OAuthProgram(tunnel).register({ redirect_uris: uris });
    expect(await answer.json()).toMatchObject({ error: 'invalid_redirect_uri' });
  }
});
