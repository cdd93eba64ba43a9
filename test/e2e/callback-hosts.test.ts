import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { AccessFixture, ANA, type LimitedClient } from '../support/access-fixture.ts';
import { eventually } from '../support/eventually.ts';
import { type Answer, freePort, KEY } from '../support/service.ts';

let fixture: AccessFixture;
let wirePort = 0;
beforeAll(async () => {
  wirePort = await freePort();
  fixture = await AccessFixture.start({ bluebubbles: { port: wirePort } });
});
afterAll(() => fixture.dispose());

const HOOKS = { scopes: ['events', 'webhooks'], read: [ANA] };
const change = (id: string, changes: object) =>
  fixture.service.request('PATCH', `/keys/${id}`, {
    body: JSON.stringify(changes),
    headers: { 'content-type': 'application/json' },
  });
const register = async ({ post }: LimitedClient, url: string) =>
  (await post('/webhooks', { url, events: ['message.received'] })).json as { id?: string; code?: string };
const urls = async (): Promise<readonly string[]> =>
  ((await fixture.service.get('/webhooks')).json as { url: string }[]).map(({ url }) => url);

describe('a key whose owner names a host', () => {
  test('has webhooks only there and on this machine', async () => {
    const client = await fixture.key({ ...HOOKS, callback_hosts: ['NAS.test:5678', 'NAS.test:5678'] });
    expect(client.record.callback_hosts).toEqual(['nas.test:5678']);
    expect(await register(client, 'http://nas.test:5678/hook?token=secret')).toMatchObject({ id: expect.any(String) });
    expect(await register(client, 'http://127.0.0.1:9/own')).toMatchObject({ id: expect.any(String) });
    for (const url of [
      'http://nas.test/hook',
      'http://nas.test:5679/',
      'http://x.nas.test:5678/',
      'http://10.0.0.1/',
    ]) {
      expect([url, await register(client, url)]).toEqual([
        url,
        expect.objectContaining({ code: 'webhook_not_allowed' }),
      ]);
    }
    expect(await register(client, 'http://me:pw@nas.test:5678/')).toMatchObject({
      code: 'webhook_headers_not_allowed',
    });
    const lines = (await fixture.audit(`?key=${client.record.id}`)).filter(({ action }) => action === 'webhook');
    expect(lines.map(({ outcome, target }) => [outcome, outcome === 'posts_to' ? target : 'id'])).toEqual([
      ['registered', 'id'],
      ['posts_to', 'nas.test:5678'],
      ['registered', 'id'],
    ]);
  });

  test('loses the webhooks there when the host is taken away, and keeps what the owner pointed elsewhere', async () => {
    const client = await fixture.key({ ...HOOKS, callback_hosts: ['gone.test', 'kept.test'] });
    await register(client, 'http://gone.test/a');
    await register(client, 'http://kept.test/b');
    const { id } = await register(client, 'http://127.0.0.1:9/c');
    await fixture.service.request('PATCH', `/webhooks/${id}`, {
      body: JSON.stringify({ url: 'http://owner.test/c' }),
      headers: { 'content-type': 'application/json' },
    });
    expect((await change(client.record.id, { callback_hosts: ['kept.test'] })).status).toBe(200);
    await eventually(async () => expect(await urls()).not.toContain('http://gone.test/a'));
    expect(await urls()).toEqual(expect.arrayContaining(['http://kept.test/b', 'http://owner.test/c']));
    expect(await register(client, 'http://gone.test/a')).toMatchObject({ code: 'webhook_not_allowed' });
  });

  test("has no webhook or subscription at the service itself, whose requests would count as the owner's", async () => {
    const hosts = ['localhost', '[::ffff:7f00:1]', '0.0.0.0'];
    const client = await fixture.key({ ...HOOKS, callback_hosts: hosts });
    const { id } = await register(client, 'http://127.0.0.1:9/own');
    for (const port of [fixture.service.port, wirePort]) {
      for (const host of ['127.0.0.1', 'localhost', 'localhost.', '[::ffff:127.0.0.1]', '2130706433', '0.0.0.0']) {
        const url = `http://${host}:${port}/api/v1/x`;
        expect([url, await register(client, url)]).toEqual([
          url,
          expect.objectContaining({ code: 'webhook_not_allowed', detail: expect.stringContaining('Postern itself') }),
        ]);
      }
    }
    const url = `http://127.0.0.1:${fixture.service.port}/`;
    const moved = await fixture.service.request('PATCH', `/webhooks/${id}`, {
      body: JSON.stringify({ url }),
      headers: { 'content-type': 'application/json', 'x-api-key': client.record.key },
    });
    expect([moved.status, moved.json]).toEqual([403, expect.objectContaining({ code: 'webhook_not_allowed' })]);
    // Of the owner's pointing, or from before an update: refused again before it is posted.
    await fixture.service.request('PATCH', `/webhooks/${id}`, {
      body: JSON.stringify({ url }),
      headers: { 'content-type': 'application/json' },
    });
    const tested = await client.post(`/webhooks/${id}/test`, {});
    expect(tested.json).toMatchObject({ delivered: false, status: null });
    await fixture.service.request('DELETE', `/webhooks/${id}`);
  });

  test('has at most 8 webhooks', async () => {
    const client = await fixture.key(HOOKS);
    for (let at = 0; at < 8; at += 1) {
      expect(await register(client, `http://127.0.0.1:9/${at}`)).toMatchObject({ id: expect.any(String) });
    }
    expect(await register(client, 'http://127.0.0.1:9/8')).toMatchObject({ code: 'too_many_webhooks' });
  });

  test('cannot name one itself, and the owner learns of every mistake', async () => {
    const { record, request } = await fixture.key(HOOKS);
    expect((await request('PATCH', `/keys/${record.id}`)).status).toBe(403);
    const { json } = await change(record.id, { callback_hosts: ['http://x/', 7, '*.example.net'] });
    expect(json).toMatchObject({ code: 'invalid_request' });
    expect((json as { errors: object[] }).errors).toHaveLength(3);
  });
});

test('a Bearer token that is no limited key is refused in the same words, whosever key it is', async () => {
  const { record } = await fixture.key(HOOKS);
  const refusals = (tokens: readonly string[]): Promise<readonly Answer[]> =>
    Promise.all(
      tokens.map((token) => fixture.service.get('/keys/me', { 'x-api-key': '', authorization: `Bearer ${token}` })),
    );
  // Only the form of a token decides.
  for (const tokens of [
    [KEY, 'wrong'],
    ['postern_00000000_x', `${record.key}x`],
  ]) {
    const [first, second] = await refusals(tokens);
    expect(first?.json).toMatchObject({
      status: 401,
      code: 'unauthorized',
      hint: expect.stringContaining('X-API-Key'),
    });
    expect(second?.text).toBe(first?.text);
    expect(first?.text).not.toContain(KEY);
  }
});

test('a wait of the API is no longer than that of its key', async () => {
  const ask = async ({ record }: LimitedClient, path: string): Promise<unknown> => {
    // Shorter than the requested wait.
    const init = { headers: { 'x-api-key': record.key }, signal: AbortSignal.timeout(30_000) };
    return (await fetch(fixture.service.url + path, init)).json();
  };
  const approver = await fixture.key({ scopes: ['approve'], max_wait_s: 0 });
  expect(await ask(approver, '/approvals?state=denied&wait=50')).toEqual([]);
  const client = await fixture.key({ preset: 'assistant', read: [ANA], send: [ANA], max_wait_s: 0 });
  const { json } = await client.post('/messages', { recipient: ANA, body: 'May I wait?' });
  const { approval } = json as { readonly approval: { readonly id: string } };
  expect(await ask(client, `/approvals/${approval.id}?wait=50`)).toMatchObject({ state: 'held' });
  const { newest_event: newest } = (await fixture.service.get('/status')).json as {
    readonly newest_event: { readonly row_id: number };
  };
  expect(await ask(client, `/events?after=${newest.row_id}&wait=50`)).toEqual([]);
});

test('the answer to a held send says where the owner decides', async () => {
  const { post } = await fixture.key({ preset: 'assistant', send: [ANA] });
  const { status, json } = await post('/messages', { recipient: ANA, body: 'May I?' });
  const { approval, console: place } = json as { approval: { id: string }; console: string };
  expect([status, place]).toEqual([202, `/console#/approvals/${approval.id}`]);
  expect((await fetch(`http://127.0.0.1:${fixture.service.port}${place}`)).status).toBe(200);
});
