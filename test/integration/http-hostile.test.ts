import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { TIMEOUTS } from '../../src/core/http/server.ts';
import { FeatureGateway } from '../support/feature-gateway.ts';
import { type Call, KEY } from '../support/http-gateway.ts';

let gateway: FeatureGateway;
beforeEach(async () => {
  gateway = await FeatureGateway.start();
});
afterEach(async () => {
  expect((await gateway.get('/api/v1/health', { key: false })).status).toBe(200);
  expect(gateway.sender.sent).toEqual([]);
  await gateway.close();
});

const rawKey = `X-API-Key: ${Buffer.from(KEY).toString('latin1')}\r\n`;

function problemOf(raw: string): { status: number; code: string } {
  const [head = '', body = ''] = raw.split('\r\n\r\n');
  expect(head).toContain('Content-Type: application/problem+json');
  expect(head).toContain('Connection: close');
  return JSON.parse(body) as { status: number; code: string };
}

/** Sends part of a request to a server with short time limits. Returns the refusal. */
async function unfinished(raw: string) {
  const hasty = await FeatureGateway.start({ timeouts: { headersMs: 150, requestMs: 300, checkMs: 20 } });
  try {
    return problemOf(await hasty.raw(raw));
  } finally {
    await hasty.close();
  }
}

function send(call: Call) {
  return gateway.call('POST', '/api/v1/messages', call);
}

describe('a body', () => {
  test('must be there', async () => {
    const answer = await send({});
    expect(answer).toMatchObject({ status: 400, json: { code: 'missing_body', errors: [{ pointer: '' }] } });
  });

  test('must be JSON, and the answer has the position of a mistake, but not the text', async () => {
    const answer = await send({ body: '{"body": "private", oops}' });
    expect(answer).toMatchObject({ status: 400, json: { code: 'invalid_json' } });
    expect(answer.text).toContain('position 20');
    const other = await send({ body: 'private' });
    expect(other.json).toMatchObject({ code: 'invalid_json', detail: 'The body is not valid JSON.' });
    expect(answer.text + other.text).not.toContain('private');
  });

  test.each(['[]', '"text"', '7', 'null'])('must be an object, not %s', async (body) => {
    expect(await send({ body })).toMatchObject({ status: 400, json: { errors: [{ pointer: '' }] } });
  });

  test('must be UTF-8', async () => {
    const body = Buffer.concat([
      Buffer.from('{"recipient":"'),
      Buffer.from([0xc3, 0x28]),
      Buffer.from('","body":"x"}'),
    ]);
    expect(await send({ body })).toMatchObject({ status: 400, json: { detail: 'The body is not valid UTF-8.' } });
  });

  test('must not exceed 1 MiB, with its length given or not', async () => {
    const body = JSON.stringify({ recipient: 'x', body: 'y'.repeat(2 * 1024 * 1024) });
    const length = String(Buffer.byteLength(body));
    expect(await send({ body, headers: { 'content-length': length } })).toMatchObject({ status: 413 });
    expect(await send({ body, headers: { 'transfer-encoding': 'chunked' } })).toMatchObject({
      status: 413,
      json: { code: 'body_too_large' },
    });
  });

  test('that is too large is read to its end, so that the connection can continue', async () => {
    const size = 2 * 1024 * 1024;
    const first = `POST /api/v1/messages HTTP/1.1\r\nHost: localhost\r\n${rawKey}Transfer-Encoding: chunked\r\n\r\n`;
    const chunk = `${size.toString(16)}\r\n${'x'.repeat(size)}\r\n0\r\n\r\n`;
    const second = 'GET /api/v1/health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n';
    const answers = await gateway.raw(first + chunk + second);
    expect(answers.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 413', 'HTTP/1.1 200']);
  });

  test.each([
    'text/plain',
    'application/x-www-form-urlencoded',
    'application/json; charset=latin1',
    'application/json; v=1; Charset = utf-16',
    'json',
    'application/jsonp',
  ])('is not taken as %s', async (type) => {
    const answer = await send({ body: '{}', headers: { 'content-type': type } });
    expect(answer).toMatchObject({ status: 415, json: { code: 'unsupported_media_type' } });
  });

  test.each([
    'application/json',
    'application/json;',
    'Application/JSON; charset="UTF-8"',
    'application/vnd.api+json',
    'application/json; odata=verbose; charset=utf-8',
    'application/json; profile="a b"',
  ])('is read as %s', async (type) => {
    expect((await send({ body: '{}', headers: { 'content-type': type } })).status).toBe(400);
  });

  test('is not unpacked', async () => {
    expect((await send({ body: 'x', headers: { 'content-encoding': 'gzip' } })).status).toBe(415);
  });

  test('nested a hundred thousand deep is only a mistake', async () => {
    expect((await send({ body: '['.repeat(100_000) })).status).toBe(400);
    expect((await send({ body: '['.repeat(100_000) + ']'.repeat(100_000) })).status).toBe(400);
  });

  test('whose chunks carry more beside than in them is 413', async () => {
    const raw = `POST /api/v1/messages HTTP/1.1\r\nHost: localhost\r\n${rawKey}Transfer-Encoding: chunked\r\n\r\n`;
    const answer = problemOf(await gateway.raw(`${raw}2;${'x'.repeat(20_000)}\r\n{}\r\n0\r\n\r\n`));
    expect(answer).toMatchObject({ status: 413, code: 'body_too_large' });
  });

  test('that never arrives is 408', async () => {
    const raw = `POST /api/v1/messages HTTP/1.1\r\nHost: localhost\r\n${rawKey}Content-Length: 10\r\n\r\n{`;
    expect(await unfinished(raw)).toMatchObject({ status: 408, code: 'request_timeout' });
  });
});

describe('a request', () => {
  test.each(['/api/v1/%zz', '/api/v1/messages/%', '/api/v1/messages/%00', '/api/v1/conversations/%ff'])(
    'with the malformed path %s is 400, after the key',
    async (path) => {
      expect(await gateway.get(path)).toMatchObject({ status: 400, json: { code: 'invalid_path' } });
      expect((await gateway.get(path, { key: false })).status).toBe(401);
    },
  );

  test.each(['limit=%zz', 'conversation_id=a%00b', 'unknown=%ff'])(
    'with the malformed query %s is 400',
    async (query) => {
      for (const path of ['/api/v1/messages', '/api/v1/messages/7', '/api/v1/webhooks']) {
        expect((await gateway.get(`${path}?${query}`)).json).toMatchObject({
          status: 400,
          errors: [{ pointer: `?${query.split('=')[0]}` }],
        });
      }
    },
  );

  test('with a head over 16 KiB is 431', async () => {
    expect((await gateway.get(`/api/v1/messages?x=${'y'.repeat(15_000)}`)).status).toBe(200);
    const answer = await gateway.get(`/api/v1/messages?x=${'y'.repeat(17_000)}`);
    expect(answer).toMatchObject({ status: 431, json: { code: 'headers_too_large' } });
    expect(answer.headers['x-request-id']).toBeTruthy();
  });

  describe('with header lines by the thousand', () => {
    const lines = (count: number): string => Array.from({ length: count }, (_, at) => `x${at}:\r\n`).join('');
    const own = `Host: localhost\r\nConnection: close\r\n${rawKey}`;

    test('may have 200 of them; one more is 431', async () => {
      const raw = await gateway.raw(`GET /api/v1/messages HTTP/1.1\r\n${own}${lines(197)}\r\n`);
      expect(raw).toMatch(/^HTTP\/1.1 200 /);
      for (const count of [198, 2500]) {
        const refused = await gateway.raw(`GET /api/v1/messages HTTP/1.1\r\n${own}${lines(count)}\r\n`);
        expect(problemOf(refused)).toMatchObject({ status: 431, code: 'headers_too_large' });
      }
    });

    test.each([
      ['open page', 'GET /console HTTP/1.1\r\nHost: localhost\r\n'],
      ['offer of another protocol', `GET / HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n`],
      [
        'handshake',
        'GET /api/v1/ws HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n' +
          'Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n',
      ],
    ])('is refused as an %s too, and ends the connection', async (_name, head) => {
      expect(problemOf(await gateway.raw(`${head}${lines(201)}\r\n`)).status).toBe(431);
    });

    test('runs nothing that follows on the connection, after the answers before it', async () => {
      const get = `GET /api/v1/messages HTTP/1.1\r\nHost: localhost\r\n${rawKey}`;
      const body = JSON.stringify({ recipient: 'a', body: 'x' });
      const post = `POST /api/v1/messages HTTP/1.1\r\nHost: localhost\r\n${rawKey}Content-Length: ${body.length}\r\n`;
      const before = gateway.sender.sent.length;
      const raw = await gateway.raw(`${get}\r\n${get}${lines(300)}\r\n${post}\r\n${body}`);
      expect([...raw.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => status)).toEqual(['200', '431']);
      expect(gateway.sender.sent.length).toBe(before);
    });
  });

  test.each(['GET ftp://localhost/api/v1/messages HTTP/1.1', 'OPTIONS * HTTP/1.1', 'GET * HTTP/1.1'])(
    'for something that is no path is 400: %s',
    async (line) => {
      const raw = await gateway.raw(`${line}\r\nHost: localhost\r\nConnection: close\r\n${rawKey}\r\n`);
      expect(raw).toMatch(/^HTTP\/1.1 400 /);
      const strange = await gateway.raw(`${line}\r\nHost: localhost\r\nConnection: close\r\n\r\n`);
      expect(strange).toMatch(/^HTTP\/1.1 401 /);
    },
  );

  test('to connect elsewhere is 400', async () => {
    const raw = await gateway.raw(`CONNECT example.net:443 HTTP/1.1\r\nHost: example.net:443\r\n${rawKey}\r\n`);
    expect(problemOf(raw)).toMatchObject({ status: 400 });
  });

  test.each([
    'garbage\r\n\r\n',
    'GET / HTTP/1.1\r\nHost: localhost\r\nBad Header: x\r\n\r\n',
    'GET /a b HTTP/1.1\r\n\r\n',
  ])('that is not HTTP is 400: %j', async (text) => {
    expect(problemOf(await gateway.raw(text))).toMatchObject({ status: 400, code: 'invalid_http' });
  });

  test('of two lengths is 400', async () => {
    const head = `POST /api/v1/messages HTTP/1.1\r\nHost: localhost\r\n${rawKey}`;
    for (const lengths of [
      'Content-Length: 2\r\nTransfer-Encoding: chunked\r\n',
      'Content-Length: 2\r\nContent-Length: 3\r\n',
    ]) {
      expect(problemOf(await gateway.raw(`${head}${lengths}\r\n{}`)).status).toBe(400);
    }
  });

  test('has 10 s for its headers and 30 s as a whole', () => {
    expect(TIMEOUTS).toMatchObject({ headersMs: 10_000, requestMs: 30_000 });
  });

  test('whose headers never end is 408', async () => {
    expect(await unfinished('GET / HTTP/1.1\r\nHost: lo')).toMatchObject({ status: 408 });
  });

  test('with an unknown expectation is still answered', async () => {
    const expectation = 'Expect: the-unexpected\r\nConnection: close\r\n';
    const raw = await gateway.raw(`GET /api/v1/messages HTTP/1.1\r\nHost: localhost\r\n${rawKey}${expectation}\r\n`);
    expect(raw).toMatch(/^HTTP\/1.1 200 /);
  });

  test('that offers another protocol is answered in this one, body and all', async () => {
    const offer = { connection: 'Upgrade, HTTP2-Settings', upgrade: 'h2c', 'http2-settings': 'AAMAAABkAAQAAP__' };
    expect((await gateway.get('/api/v1/messages', { headers: offer })).status).toBe(200);
    const made = await gateway.post(
      '/api/v1/webhooks',
      { url: 'http://a', events: ['message.sent'] },
      { headers: offer },
    );
    expect(made.status).toBe(201);
    expect((await gateway.get('/api/v1/messages', { headers: offer, key: false })).status).toBe(401);
    const last = 'Connection: close, Upgrade\r\nUpgrade: h2c\r\n';
    const raw = await gateway.raw(`GET /api/v1/messages HTTP/1.1\r\nHost: localhost\r\n${rawKey}${last}\r\n`);
    expect(raw).toMatch(/^Connection: close\r$/m);
  });

  test.each(['Content-Length', 'Transfer-Encoding'])(
    'that offers another protocol with many headers before its %s is one request',
    async (name) => {
      const hidden = 'GET /console HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n';
      const size = hidden.length.toString(16);
      const [value, body] =
        name === 'Content-Length' ? [hidden.length, hidden] : ['chunked', `${size}\r\n${hidden}\r\n0\r\n\r\n`];
      const answered = async (lines: number) => {
        const many = `Connection: Upgrade\r\nUpgrade: h2c\r\n${'a:\r\n'.repeat(lines)}`;
        const raw = await gateway.raw(
          `POST /api/v1/first HTTP/1.1\r\nHost: localhost\r\n${many}${name}: ${value}\r\n\r\n${body}` +
            'GET /api/v1/second HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n',
        );
        return raw.match(/HTTP\/1\.1 \d+/g);
      };
      expect(await answered(196)).toEqual(['HTTP/1.1 401', 'HTTP/1.1 401']);
      expect(await answered(1100)).toEqual(['HTTP/1.1 431']);
    },
  );
});
