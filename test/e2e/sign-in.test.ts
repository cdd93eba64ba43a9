import { request } from 'node:http';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { PosternClient } from '../../src/client/postern-client.ts';
import { KEY, Service } from '../support/service.ts';
import { temporaryFolder } from '../support/temporary.ts';

const LISTED = 'https://home.example';
const root = temporaryFolder();
let service: Service;
let origin = '';

beforeAll(async () => {
  service = await Service.here({
    chatDbPath: join(root, 'none'),
    osascriptPath: join(root, 'none'),
    settings: { server: { allowed_origins: [LISTED], rate_limit_per_minute: 1000 } },
  });
  origin = `http://127.0.0.1:${service.port}`;
});
afterAll(() => service.dispose());

async function newCode(): Promise<string> {
  const client = new PosternClient({ socketPath: service.socketPath, key: KEY });
  const { url } = await client.keys.signInCode();
  const [, code = ''] = /#code=(.+)$/.exec(url) ?? [];
  expect(url).toBe(`${origin}/console#code=${code}`);
  return code;
}

/** Exchanges a code; `headers` say which page asks. */
function signIn(code: unknown, headers: Readonly<Record<string, string>> = { Origin: origin }): Promise<Response> {
  return fetch(`${origin}/console/sign-in`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', ...headers },
    body: JSON.stringify({ code }),
  });
}

const codeOf = async (answer: Response): Promise<unknown> => ((await answer.json()) as { readonly code: unknown }).code;

test('the console gets the key for a code once, uncached and counted', async () => {
  const code = await newCode();
  const answer = await signIn(code);
  expect([answer.status, await answer.json()]).toEqual([200, { key: KEY }]);
  expect(answer.headers.get('cache-control')).toBe('no-store');
  expect(answer.headers.get('ratelimit')).toContain('r=');
  const again = await signIn(code);
  expect([again.status, await codeOf(again)]).toEqual([403, 'sign_in_code_wrong']);
  expect(service.output).not.toContain(code);
});

test.each([
  ['without an Origin', {}],
  ['of a foreign page', { Origin: 'https://evil.example' }],
  ['of another port of this machine', { Origin: 'http://127.0.0.1:1' }],
  ['of a listed page', { Origin: LISTED }],
  ['that a browser calls foreign', { Origin: 'null', 'Sec-Fetch-Site': 'cross-site' }],
])('a request %s gets no key, and the code stays', async (_, headers) => {
  const code = await newCode();
  const answer = await signIn(code, headers);
  expect([answer.status, await codeOf(answer)]).toEqual([403, 'origin_not_allowed']);
  expect((await signIn(code)).status).toBe(200);
});

test('wrong codes of another program void none that was made', async () => {
  const code = await newCode();
  for (let count = 0; count < 8; count += 1) expect((await signIn(`wrong-${count}`)).status).toBe(403);
  expect((await signIn(code)).status).toBe(200);
});

test('over the port no code is made, also for the owner', async () => {
  const answer = await service.post('/sign-in-codes', {});
  expect([answer.status, answer.json]).toEqual([403, expect.objectContaining({ code: 'socket_required' })]);
});

test('over the socket a code is made for the owner alone, and exchanged for nobody', async () => {
  const asked = (path: string, headers: Readonly<Record<string, string>>): Promise<number | undefined> =>
    new Promise((resolve, reject) => {
      const sent = request({ socketPath: service.socketPath, path, method: 'POST', headers }, (response) => {
        response.resume();
        resolve(response.statusCode);
      });
      sent.on('error', reject).end();
    });
  expect(await asked('/api/v1/sign-in-codes', { Host: 'localhost' })).toBe(401);
  expect(await asked('/api/v1/sign-in-codes', { Host: 'localhost', 'X-API-Key': 'wrong' })).toBe(401);
  expect(await asked('/console/sign-in', { Host: 'localhost' })).toBe(403);
});

test.each([[undefined], [7], [null]])('a body with the code %j is 400', async (code) => {
  const answer = await signIn(code);
  expect([answer.status, await answer.json()]).toEqual([
    400,
    expect.objectContaining({ errors: [{ pointer: '/code', message: expect.any(String) }] }),
  ]);
});

test('another method is 405', async () => {
  const answer = await fetch(`${origin}/console/sign-in`);
  expect([answer.status, answer.headers.get('allow')]).toEqual([405, 'POST']);
});
