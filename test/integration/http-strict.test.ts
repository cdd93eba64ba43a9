import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { problem } from '../../src/core/model/problems.ts';
import { readQuery } from '../../src/core/schema/query-parameters.ts';
import { streamQuery } from '../../src/core/schema/stream-query.ts';
import { asksForStrict } from '../../src/core/schema/strict.ts';
import { type HttpAnswer, HttpGateway, KEY } from '../support/http-gateway.ts';

const STRICT = { prefer: 'handling=strict' };
const UPGRADE = 'Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n';

let gateway: HttpGateway;
beforeAll(async () => {
  gateway = await HttpGateway.start({
    settings: { rateLimitPerMinute: 100_000 },
    acceptWebSocket(_request, _socket, _head, query) {
      readQuery(streamQuery, query);
      throw problem('shutting_down');
    },
  });
});
afterAll(() => gateway.close());

/** Returns the gateway's answer. A valid handshake is refused with 503, because no clients are served here. */
function handshake(query: string, headers: string): Promise<string> {
  const path = `/api/v1/ws${query.replace('KEY', encodeURIComponent(KEY))}`;
  return gateway.raw(`GET ${path} HTTP/1.1\r\nHost: localhost\r\n${UPGRADE}${headers}Connection: Upgrade\r\n\r\n`);
}

const pointersOf = ({ json }: HttpAnswer): readonly string[] =>
  ((json as { errors?: readonly { pointer: string }[] } | undefined)?.errors ?? []).map(({ pointer }) => pointer);

test('a send without its body names the missing member, and strictly also the unknown one', async () => {
  const call = { body: JSON.stringify({ recipient: '+15550100', text: 'Hello' }) };
  const answer = await gateway.call('POST', '/api/v1/messages', call);
  expect(answer.json).toMatchObject({ detail: '`body` is missing.' });
  const strict = await gateway.call('POST', '/api/v1/messages', { ...call, headers: STRICT });
  expect(pointersOf(strict)).toEqual(['/body', '/text']);
});

describe('with Prefer: handling=strict', () => {
  test('every mistake is named, with what there is', async () => {
    const query = await gateway.get('/api/v1/messages?conversation=x&limit=999&order=up&since=now', {
      headers: STRICT,
    });
    expect(pointersOf(query).toSorted()).toEqual(['?conversation', '?limit', '?order', '?since']);
    expect(query.text).toContain('`conversation` is not a known parameter. Known here: `conversation_id`, `since`');
    const body = { recipient: '', body: 'x', attachment: ['a'], dry_run: 1 };
    const send = await gateway.post('/api/v1/messages', body, { headers: STRICT });
    expect(pointersOf(send).toSorted()).toEqual(['/attachment', '/dry_run', '/recipient']);
    expect(gateway.sender.sent).toEqual([]);
  });

  test('the handshake of a WebSocket names every parameter that it does not know', async () => {
    const strict = await handshake('?api_key=KEY&after=x&change=true&change=false', 'Prefer: handling=strict\r\n');
    expect(strict).toContain('HTTP/1.1 400');
    expect(strict).toContain('Preference-Applied: handling=strict');
    expect([...strict.matchAll(/"pointer":"(.*?)"/g)].map(([, pointer]) => pointer)).toEqual(['?change', '?after']);
    expect(strict).toContain('Known here: `after`, `changes`, `include`, `max_age_s`, `junk`, `include_hidden`.');
    for (const [query, prefer] of [
      ['?api_key=KEY&change=true', ''],
      ['?api_key=KEY&changes=true&include=details', 'Prefer: handling=strict\r\n'],
    ] as const) {
      expect(await handshake(query, prefer)).toContain('HTTP/1.1 503');
    }
  });

  test.each(['-1', 'abc', '', 'null'])('max_age_s=%s is refused at every entrance, strict or not', async (value) => {
    const path = `/api/v1/events?after=0&max_age_s=${value}`;
    for (const accept of ['application/json', 'text/event-stream', 'application/x-ndjson']) {
      const answer = await gateway.get(path, { headers: { accept } });
      expect([answer.status, pointersOf(answer)]).toEqual([400, ['?max_age_s']]);
    }
    const socket = await handshake(`?api_key=KEY&max_age_s=${value}`, '');
    expect(socket).toContain('HTTP/1.1 400');
    expect(socket).toContain('"pointer":"?max_age_s"');
  });

  test('what is right is answered as without it', async () => {
    const list = await gateway.get('/api/v1/messages?limit=200&order=asc', { headers: STRICT });
    expect([list.status, list.headers['preference-applied']]).toEqual([200, 'handling=strict']);
    const send = { recipient: 'a', body: 'b', attachments: [] };
    expect((await gateway.post('/api/v1/messages', send, { headers: STRICT })).status).toBe(201);
  });

  test('a form with a field that is not known is refused too', async () => {
    const fields = ['recipient', 'body', 'attachment'].map(
      (name) => `--B\r\nContent-Disposition: form-data; name="${name}"\r\n\r\nx\r\n`,
    );
    const type = { 'content-type': 'multipart/form-data; boundary=B' };
    const call = { headers: { ...type, ...STRICT }, body: `${fields.join('')}--B--\r\n` };
    const answer = await gateway.call('POST', '/api/v1/messages', call);
    expect([answer.status, pointersOf(answer)]).toEqual([400, ['/attachment']]);
  });

  test('a send with mistakes in its query and its body is refused with all of them, and sends nothing', async () => {
    const sent = gateway.sender.sent.length;
    const body = { recipient: '', body: 'x', attachment: ['a'] };
    const send = await gateway.post('/api/v1/messages?dry_run=true&x=1', body, { headers: STRICT });
    expect(pointersOf(send)).toEqual(['?dry_run', '?x', '/recipient', '/attachment']);
    expect(send.json).toMatchObject({ code: 'invalid_request', detail: 'The request has 4 mistakes.' });
    const right = await gateway.post('/api/v1/messages?x=1', { recipient: 'a', body: 'b' }, { headers: STRICT });
    expect([right.status, pointersOf(right), gateway.sender.sent.length]).toEqual([400, ['?x'], sent]);
  });

  test.each([
    ['a body of another type', '/messages', { 'content-type': 'text/plain' }, 'x', []],
    ['a body that is too large', '/messages', {}, `"${'x'.repeat(2 ** 20)}"`, []],
    ['a body that is not JSON', '/webhooks', {}, '{', ['']],
    ['a body that is no object', '/webhooks', {}, 'null', ['']],
    ['a file without a name', '/attachments', {}, 'x', []],
    ['a file', '/attachments', { 'content-disposition': 'attachment; filename="a.txt"' }, 'x', []],
    ['a form without a file', '/attachments', { 'content-type': 'multipart/form-data; boundary=B' }, '--B--\r\n', []],
  ])('a wrong query is named before %s, and with the mistakes in it', async (_what, path, headers, body, others) => {
    const call = { headers: { ...STRICT, ...headers }, body };
    const answer = await gateway.call('POST', `/api/v1${path}?x=1`, call);
    expect([answer.status, pointersOf(answer)]).toEqual([400, ['?x', ...others]]);
  });

  test('a body full of unknown members gets a short answer', async () => {
    const body = Object.fromEntries(Array.from({ length: 20_000 }, (_, index) => [`x${index}`, 1]));
    const answer = await gateway.post('/api/v1/messages', body, { headers: STRICT });
    expect(answer.status).toBe(400);
    expect(answer.text.length).toBeLessThan(50_000);
  });
});

test.each([
  ['handling=strict', true],
  ['Handling = "strict"; x=y', true],
  ['respond-async, handling=strict', true],
  ['handling=lenient, handling=strict', false],
  ['handling=lenient', false],
  ['handling=stricter', false],
  ['return=minimal', false],
  ['', false],
  [undefined, false],
])('Prefer: %s is understood', (header, isStrict) => {
  expect(asksForStrict(header)).toBe(isStrict);
});
