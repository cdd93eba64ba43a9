import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { eventually } from '../support/eventually.ts';
import { KEY, Service } from '../support/service.ts';
import { simulatedMac } from '../support/simulated-mac.ts';
import { anthropicProxy, OpenAiTunnel, type Response } from '../support/tunnels.ts';

const ANA = '+15550100';
const DOMAIN = 'a1b2.tunnel.example';
const HOST = `messages.${DOMAIN}`;

let mac: Awaited<ReturnType<typeof simulatedMac>>;
let service: Service;
const closers: (() => void)[] = [];

beforeAll(async () => {
  mac = await simulatedMac();
  await mac.command({ do: 'receive', from: ANA, text: 'before' });
  const settings = { server: { allowed_hosts: [HOST], rate_limit_per_minute: 40 } };
  service = await Service.here({ chatDbPath: mac.chatDbPath, osascriptPath: mac.osascriptPath, settings });
});
afterEach(() => {
  for (const close of closers.splice(0)) close();
});
afterAll(async () => {
  await service.dispose();
  await mac.dispose();
});

async function newKey(more: object = {}): Promise<string> {
  const answer = await service.post('/keys', { name: 'tunnel', preset: 'reader', read: [ANA], ...more });
  return (answer.json as { readonly key: string }).key;
}

interface TunnelOptions {
  readonly key?: string;
  readonly unixSocket?: string;
}

async function openAi({ key, unixSocket }: TunnelOptions = {}): Promise<OpenAiTunnel> {
  const tunnel = await OpenAiTunnel.open({
    url: unixSocket === undefined ? `http://127.0.0.1:${service.port}/mcp` : 'http://localhost/mcp',
    extraHeaders: key === undefined ? {} : { 'X-API-Key': key },
    ...(unixSocket !== undefined && { unixSocket }),
  });
  closers.push(() => tunnel.close());
  return tunnel;
}

const LIST = { jsonrpc: '2.0', id: 1, method: 'tools/list' };
const wait = (seconds: number) => ({
  ...{ jsonrpc: '2.0', id: 2, method: 'tools/call' },
  params: { name: 'events_wait', arguments: { timeout_s: seconds } },
});

function resultOf(responses: readonly Response[]): Readonly<Record<string, unknown>> {
  const last = responses.at(-1);
  expect([last?.resp_code, last?.resp_type]).toEqual([200, 'jsonrpc_response']);
  return (last?.resp_json as { readonly result?: Record<string, unknown> } | undefined)?.result ?? {};
}

describe("through OpenAI's tunnel", () => {
  test('a connector has the tools of the key in extra_headers, over TCP and over the Unix socket', async () => {
    const key = await newKey();
    for (const tunnel of [await openAi({ key }), await openAi({ key, unixSocket: service.socketPath })]) {
      const { tools } = resultOf(await tunnel.ask(LIST)) as { readonly tools: readonly { readonly name: string }[] };
      expect(tools.map(({ name }) => name)).toContain('messages_read');
      expect(await tunnel.ask({ jsonrpc: '2.0', method: 'notifications/initialized' })).toMatchObject([
        { resp_code: 202, resp_type: 'notify_ack' },
      ]);
    }
  });

  test("the owner's key opens nothing, and a page brings no origin", async () => {
    const bare = await openAi();
    const [answer] = await bare.ask(LIST, { headers: { 'X-API-Key': [KEY] } });
    expect(answer?.resp_code).toBe(403);
    const tunnel = await openAi({ key: await newKey() });
    const [page] = await tunnel.ask(LIST, { headers: { Origin: ['https://chatgpt.com'] } });
    expect(page?.resp_code).toBe(403);
  });

  test('no request is admitted for coming from this machine', async () => {
    const tunnel = await openAi();
    expect(await tunnel.ask(LIST)).toMatchObject([{ resp_code: 401 }]);
  });

  test('a wait ends before the tunnel gives the call up', async () => {
    const patient = await openAi({ key: await newKey() });
    void patient.ask(wait(50), { response_timeout: '300ms' });
    await eventually(() => expect(patient.dropped).toHaveLength(1));
    const bounded = await openAi({ key: await newKey({ max_wait_s: 0 }) });
    resultOf(await bounded.ask(wait(50), { response_timeout: '30s' }));
    expect(bounded.dropped).toEqual([]);
  });

  test('a key that asks too often leaves the others theirs, though all come from one address', async () => {
    const [greedy, modest] = [await openAi({ key: await newKey() }), await openAi({ key: await newKey() })];
    const codes: (number | undefined)[] = [];
    for (let at = 0; at < 21; at += 1) codes.push((await greedy.ask(LIST)).at(-1)?.resp_code);
    expect([codes.at(0), codes.at(-1)]).toEqual([200, 429]);
    expect((await modest.ask(LIST)).at(-1)?.resp_code).toBe(200);
  });
});

describe("through Anthropic's tunnel", () => {
  const headers = (key: string) => ({
    ...{ accept: 'application/json, text/event-stream', 'content-type': 'application/json' },
    authorization: `Bearer ${key}`,
  });
  const local = (address: string): boolean => address === '127.0.0.1';
  const proxy = (host: 'of the tunnel' | 'of the server', isAllowed?: (address: string) => boolean) =>
    anthropicProxy({
      ...{ tunnelDomain: DOMAIN, routes: { messages: `http://127.0.0.1:${service.port}` }, host },
      ...(isAllowed && { isAllowed }),
    });

  beforeAll(async () => {
    // The previous test used up the rate limit of this minute.
    await service.stop();
    await service.launch();
  });

  test.each(['of the tunnel', 'of the server'] as const)(
    'a key comes as authorization_token with the Host %s',
    async (host) => {
      const answer = await proxy(host, local)(`https://${HOST}/mcp`, headers(await newKey()), JSON.stringify(LIST));
      expect(answer.status).toBe(200);
      expect(answer.text).toContain('messages_read');
    },
  );

  test("the owner's key, no key and another subdomain open nothing", async () => {
    const ask = proxy('of the tunnel', local);
    const body = JSON.stringify(LIST);
    expect((await ask(`https://${HOST}/mcp`, headers(KEY), body)).status).toBe(401);
    expect((await ask(`https://${HOST}/mcp`, {}, body)).status).toBe(401);
    await expect(ask(`https://other.${DOMAIN}/mcp`, {}, body)).rejects.toThrow('no route');
  });

  test('loopback must be allowed on both sides', async () => {
    await expect(proxy('of the tunnel')(`https://${HOST}/mcp`, {}, '{}')).rejects.toThrow('IP validation failed');
    const unlisted = anthropicProxy({
      ...{ tunnelDomain: 'c3d4.tunnel.example', routes: { messages: `http://127.0.0.1:${service.port}` } },
      ...{ host: 'of the tunnel', isAllowed: local },
    });
    const answer = await unlisted('https://messages.c3d4.tunnel.example/mcp', headers(await newKey()), '{}');
    expect([answer.status, answer.text]).toEqual([403, expect.stringContaining('host_not_allowed')]);
  });
});
