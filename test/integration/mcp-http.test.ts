import { afterEach, describe, expect, test } from '@jest/globals';
import { LazyMcpService } from '../../src/mcp/service.ts';
import { systemClock } from '../../src/runtime/clock.ts';
import { type Call, HttpGateway } from '../support/http-gateway.ts';
import { collectingLog } from '../support/log.ts';

const gateways: HttpGateway[] = [];
async function open(allowOwnerKey = true, settings = {}): Promise<HttpGateway> {
  const mcp = new LazyMcpService({ clock: systemClock, log: collectingLog(), version: '1.2.3', timeZone: () => 'UTC' });
  const gateway = await HttpGateway.start({ mcp: { mcp, settings: { allowOwnerKey } }, settings });
  gateways.push(gateway);
  return gateway;
}
afterEach(async () => {
  for (const gateway of gateways.splice(0)) await gateway.close();
});

const HEADERS = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };
const LIST = { jsonrpc: '2.0', id: 1, method: 'tools/list' };

function ask(gateway: HttpGateway, message: unknown = LIST, call: Call = {}) {
  return gateway.post('/mcp', message, { ...call, headers: { ...HEADERS, ...call.headers } });
}

describe('the door of /mcp', () => {
  test('is closed without a key, and offers no sign-in', async () => {
    const gateway = await open();
    expect(await ask(gateway, LIST, { key: false })).toMatchObject({ status: 401, json: { code: 'unauthorized' } });
    for (const path of ['oauth-protected-resource', 'oauth-protected-resource/mcp', 'oauth-authorization-server']) {
      expect((await gateway.get(`/.well-known/${path}`, { key: false })).status).not.toBe(200);
      expect((await gateway.get(`/.well-known/${path}`)).status).toBe(404);
    }
  });

  test("refuses the owner's key and says what to do, unless it is allowed", async () => {
    const answer = await ask(await open(false));
    expect(answer).toMatchObject({ status: 403, json: { code: 'owner_key_at_mcp' } });
    expect(answer.text).toContain('postern keys add');
    expect((await ask(await open(true))).status).toBe(200);
  });

  test('is guarded against web pages and foreign host names like every other', async () => {
    const gateway = await open();
    const refused = { status: 403 };
    expect(await ask(gateway, LIST, { headers: { origin: 'http://evil.example' } })).toMatchObject(refused);
    expect(await ask(gateway, LIST, { headers: { host: 'evil.example' } })).toMatchObject(refused);
  });

  test('counts each message once', async () => {
    const gateway = await open(true, { rateLimitPerMinute: 2 });
    expect((await ask(gateway)).headers.ratelimit).toContain('r=1');
    expect((await ask(gateway)).status).toBe(200);
    expect(await ask(gateway)).toMatchObject({ status: 429, json: { code: 'rate_limited' } });
  });

  test('takes POST alone, and JSON of at most 1 MiB', async () => {
    const gateway = await open();
    for (const method of ['GET', 'DELETE']) {
      const answer = await gateway.call(method, '/mcp');
      expect(answer.status).toBe(405);
      expect(answer.headers.allow).toBe('POST');
    }
    expect((await gateway.call('POST', '/mcp', { headers: HEADERS, body: '{' })).status).toBe(400);
    expect((await ask(gateway, { ...LIST, id: 'x'.repeat(1_100_000) })).status).toBe(413);
    expect((await ask(gateway, LIST, { headers: { 'content-type': 'text/plain' } })).status).toBe(415);
  });

  test('answers what is no message of the protocol with an error of the protocol', async () => {
    const gateway = await open();
    for (const message of [{}, [], null, 7, { jsonrpc: '2.0' }, { ...LIST, method: 7 }]) {
      const answer = await ask(gateway, message);
      expect(answer.status).toBe(400);
      expect(answer.json).toMatchObject({ jsonrpc: '2.0', error: { code: expect.any(Number) } });
    }
  });
});
