import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type { messageQuery } from '../../src/core/http/messages/schema.ts';
import { includeSet, NO_INCLUDES } from '../../src/core/model/include.ts';
import { problem } from '../../src/core/model/problems.ts';
import { CONVERSATION, HttpGateway, KEY, MESSAGE } from '../support/http-gateway.ts';

let gateway: HttpGateway;
beforeEach(async () => {
  gateway = await HttpGateway.start();
});
afterEach(() => gateway.close());

const unavailable = problem('chat_db_not_permitted');

describe('health', () => {
  test('says whether the database is open, without a key', async () => {
    const answer = await gateway.get('/api/v1/health', { key: false });
    expect(answer.status).toBe(200);
    expect(answer.text).toBe('{"status":"ok","backend":{"connected":true,"message":null}}');
    gateway.backend = { connected: false, message: 'It is away.' };
    expect((await gateway.get('/api/v1/health', { key: false })).json).toEqual({
      status: 'ok',
      backend: { connected: false, message: 'It is away.' },
    });
  });
});

describe('messages', () => {
  test('are listed as they are', async () => {
    const answer = await gateway.get('/api/v1/messages');
    expect(answer.status).toBe(200);
    expect(answer.headers['content-type']).toBe('application/json');
    expect(answer.text).toBe(JSON.stringify([MESSAGE]));
    expect(answer.headers.link).toBeUndefined();
    expect(gateway.reader.queries).toEqual([{ order: 'desc', limit: 50, offset: 0, include: NO_INCLUDES }]);
  });

  test('are asked for with every parameter', async () => {
    const asked = { order: 'desc', limit: 50, offset: 0, include: NO_INCLUDES };
    const parameters: Readonly<Record<keyof typeof messageQuery.shape, readonly [value: string, reader: object]>> = {
      conversation_id: ['iMessage;-;+1555', { conversationId: 'iMessage;-;+1555' }],
      since: ['2026-01-01T00:00:00.5+01:00', { sinceNs: 1_767_222_000_500_000_000n }],
      order: ['asc', { order: 'asc' }],
      limit: ['999', { limit: 200 }],
      offset: ['5', { offset: 5 }],
      cursor: ['1.2', { cursor: '1.2' }],
      include: ['details', { include: includeSet(['details']) }],
      // Left out of what the reader finds.
      junk: ['false', {}],
      include_hidden: ['true', { withHidden: true }],
    };
    for (const [name, [value, reader]] of Object.entries(parameters)) {
      await gateway.get(`/api/v1/messages?${name}=${value}`);
      expect(gateway.reader.queries.pop()).toEqual({ ...asked, ...reader });
    }
    await gateway.get('/api/v1/messages?unknown=1');
    expect(gateway.reader.queries).toEqual([asked]);
  });

  test('have a link to the next page that asks for the same, further on', async () => {
    gateway.reader.next = '700.-1 ü';
    const path =
      '/api/v1/messages?limit=5&offset=9&order=asc&since=2026-01-01T00:00:00+01:00&conversation_id=any;-;+1&x=y';
    const { headers } = await gateway.get(path);
    const [, next = ''] = /^<(\?[^>]+)>; rel="next"$/.exec(String(headers.link)) ?? [];
    await gateway.get(`/api/v1/messages${next}`);
    const [first, second] = gateway.reader.queries;
    expect(second).toEqual({ ...first, offset: 0, cursor: '700.-1 ü' });
  });

  test('a query that cannot be understood is 400 naming every mistake', async () => {
    const answer = await gateway.get('/api/v1/messages?limit=0&offset=-1&since=yesterday&order=up');
    expect(answer.status).toBe(400);
    expect(answer.json).toMatchObject({ code: 'invalid_request', detail: 'The request has 4 mistakes.' });
    expect(answer.json).toHaveProperty(
      'errors',
      ['?since', '?order', '?limit', '?offset'].map((pointer) => ({ pointer, message: expect.any(String) })),
    );
  });

  test('an empty id in a path is 404, unless the path is a list with a slash at its end', async () => {
    for (const [method, path, code] of [
      ['DELETE', 'webhooks/', 'webhook_not_found'],
      ['GET', 'messages//attachments/0', 'not_found'],
      ['GET', 'messages/7/attachments/', 'not_found'],
      ['POST', 'webhooks//test', 'not_found'],
    ] as const) {
      const answer = await gateway.call(method, `/api/v1/${path}`);
      expect([path, answer.status, answer.json]).toEqual([path, 404, expect.objectContaining({ code })]);
    }
    expect(gateway.reader.queries).toEqual([]);
    expect((await gateway.get('/api/v1/messages/')).json).toEqual((await gateway.get('/api/v1/messages')).json);
    expect((await gateway.get('/api/v1/health/')).status).toBe(200);
    expect((await gateway.post('/api/v1/messages/', { recipient: 'a', body: 'b' })).status).toBe(201);
  });

  test('one is found by its row id alone', async () => {
    expect((await gateway.get('/api/v1/messages/7')).text).toBe(JSON.stringify(MESSAGE));
    for (const id of ['8', '07', '7.0', '-7', 'x', '%37x', '9'.repeat(40), '..', 'G7']) {
      const answer = await gateway.get(`/api/v1/messages/${id}`);
      expect(answer).toMatchObject({ status: 404, json: { code: 'message_not_found' } });
    }
  });

  test('are 503 with the reason while the database is away', async () => {
    gateway.reader.failure = unavailable;
    for (const path of ['messages', 'messages/7', 'conversations', `conversations/${CONVERSATION.id}`]) {
      expect((await gateway.get(`/api/v1/${path}`)).json).toMatchObject({
        status: 503,
        code: 'chat_db_unavailable',
        hint: unavailable.hint,
      });
    }
  });
});

describe('sending', () => {
  const send = { recipient: '+15550100', body: 'hello' };

  test('answers 201 with the URL and the message once its row was seen', async () => {
    const answer = await gateway.post('/api/v1/messages', { ...send, attachments: ['/a'], more: true });
    expect(answer).toMatchObject({ status: 201, json: MESSAGE, headers: { location: 'messages/7' } });
    expect(answer.headers['idempotent-replayed']).toBeUndefined();
    expect(gateway.sender.sent).toEqual([{ ...send, attachments: ['/a'], requestId: answer.headers['x-request-id'] }]);
  });

  test('answers 202 with the provisional message while it was not', async () => {
    const message = { ...MESSAGE, id: '', guid: '', status: 'pending' as const };
    gateway.sender.answer = () => ({ confirmed: false, message, replayed: true });
    const answer = await gateway.post('/api/v1/messages', send, { headers: { 'idempotency-key': 'once only' } });
    expect(answer).toMatchObject({ status: 202, json: message, headers: { 'idempotent-replayed': 'true' } });
    expect(answer.headers.location).toBeUndefined();
    const requestId = answer.headers['x-request-id'];
    expect(gateway.sender.sent).toEqual([
      { ...send, attachments: [], idempotencyKey: { kind: 'client', key: 'once only' }, requestId },
    ]);
  });

  test('names every mistake at once: in a header, in the body, and on the disk', async () => {
    const answer = await gateway.post(
      '/api/v1/messages',
      { recipient: 7, body: 'hello', attachments: ['relative', '/missing/a', '/there', 5, '/missing/b'] },
      { headers: { 'idempotency-key': 'x'.repeat(256) } },
    );
    expect(answer.status).toBe(400);
    expect((answer.json as { errors: { pointer: string }[] }).errors.map(({ pointer }) => pointer)).toEqual([
      'Idempotency-Key',
      '/recipient',
      '/attachments/0',
      '/attachments/3',
      '/attachments/1',
      '/attachments/4',
    ]);
    expect(gateway.sender.sent).toEqual([]);
  });

  test.each([
    [problem('send_failed', { number: '' }, { extra: { messages_error: -1728 } }), 502],
    [problem('automation_not_allowed', {}, { headers: { 'Retry-After': '5' } }), 503],
    [problem('send_outcome_unknown'), 504],
    [problem('send_in_progress'), 409],
    [problem('idempotency_key_reused'), 422],
  ])('passes on the outcome of the sender (%#)', async (error, status) => {
    gateway.sender.answer = () => {
      throw error;
    };
    const answer = await gateway.post('/api/v1/messages', send);
    expect(answer.json).toEqual({
      ...error.extra,
      type: 'about:blank',
      title: expect.any(String),
      status,
      detail: error.message,
      code: error.code,
      error: error.message,
      hint: error.hint,
    });
    expect(answer.status).toBe(status);
    expect(answer.headers['retry-after']).toBe(error.headers['Retry-After']);
  });

  test('that fails for no known reason is 500 and does not show the error', async () => {
    gateway.sender.answer = () => {
      throw new TypeError('the secret inside');
    };
    const answer = await gateway.post('/api/v1/messages', send);
    expect(answer).toMatchObject({ status: 500, json: { code: 'internal_error' } });
    expect(answer.text).not.toContain('secret');
    expect(gateway.log.lines.filter(({ level }) => level === 'error')).toHaveLength(1);
  });
});

describe('an attachment', () => {
  const PATH = '/api/v1/messages/7/attachments/0';

  /** Returns a file that claims ten bytes and yields as many as are read. */
  async function openFile(given: number, name = 'a.bin') {
    const file = { closed: 0, read: 0 };
    await gateway.close();
    gateway = await HttpGateway.start({
      attachments: {
        open: async () => ({
          name,
          mimeType: null,
          bytes: 10,
          version: 'v1',
          read: async function* () {
            file.read += 1;
            yield Buffer.alloc(given);
          },
          close: async () => {
            file.closed += 1;
          },
        }),
      },
    });
    return { gateway, file };
  }

  test.each([
    ['x', 'x'.repeat(251)],
    ['漢', '漢'.repeat(83)],
    ['😀\ud800', /^(?:😀\ufffd)+😀?$/u],
  ])('whose name is 100,000 times %j is sent with a name as long as a file can have', async (unit, stem) => {
    const { gateway } = await openFile(10, `${unit.repeat(100_000)}.txt`);
    const answer = await gateway.get(PATH);
    expect(answer).toMatchObject({ status: 200, text: '\0'.repeat(10) });
    const [, encoded = ''] = /''(.*)\.txt$/.exec(String(answer.headers['content-disposition'])) ?? [];
    expect(decodeURIComponent(encoded)).toEqual(typeof stem === 'string' ? stem : expect.stringMatching(stem));
    expect(Buffer.byteLength(decodeURIComponent(encoded))).toBeLessThanOrEqual(251);
  });

  test('is not sent again to a client that has it, and closed', async () => {
    const { gateway, file } = await openFile(10);
    const first = await gateway.get(PATH);
    expect(first.headers).toMatchObject({
      etag: '"v1"',
      'cache-control': 'private, max-age=3600',
      vary: 'X-API-Key, Authorization',
    });
    const again = await gateway.get(PATH, { headers: { 'if-none-match': '"v1"' } });
    expect(again).toMatchObject({ status: 304, text: '', headers: { etag: '"v1"' } });
    expect(file).toEqual({ closed: 1, read: 1 });
    expect((await gateway.get(PATH, { headers: { 'if-none-match': '"v0"' } })).status).toBe(200);
    expect((await gateway.get(PATH, { headers: { 'if-none-match': '"v1"' }, key: false })).status).toBe(401);
  });

  test('gives the rest of the version that a client has, else the whole', async () => {
    const { gateway } = await openFile(5);
    const rest = (version: string) => gateway.get(PATH, { headers: { range: 'bytes=5-', 'if-range': version } });
    expect((await rest('"v1"')).status).toBe(206);
    await expect(rest('"v0"')).rejects.toThrow();
  });

  test.each(['bytes=5-', 'bytes=10-'])('has no ranges for HEAD, such as %s', async (range) => {
    const { gateway } = await openFile(10);
    const { status, headers } = await gateway.call('HEAD', PATH, { headers: { range } });
    expect([status, headers['content-length'], headers['content-range']]).toEqual([200, '10', undefined]);
  });

  test('is closed when it is not read', async () => {
    const { gateway, file } = await openFile(10);
    expect((await gateway.call('HEAD', PATH)).headers['content-length']).toBe('10');
    expect((await gateway.get(PATH, { headers: { range: 'bytes=10-' } })).status).toBe(416);
    expect(file).toEqual({ closed: 2, read: 0 });
    await gateway.close();
  });

  test('that has become shorter meanwhile ends the connection, so that nobody waits for the rest', async () => {
    const { gateway } = await openFile(3);
    const ask = `GET ${PATH} HTTP/1.1\r\nHost: localhost\r\nX-API-Key: ${Buffer.from(KEY).toString('latin1')}\r\n`;
    // The next answer would be taken for the rest of this one.
    const raw = await gateway.raw(`${ask}\r\n${ask}Connection: close\r\n\r\n`);
    expect(raw.split('HTTP/1.1 200').length - 1).toBeLessThan(2);
    await gateway.close();
  });
});

describe('conversations', () => {
  test('are listed, with a link to the next page', async () => {
    gateway.reader.next = '12';
    const answer = await gateway.get('/api/v1/conversations?limit=10&offset=2');
    expect(answer.json).toEqual([CONVERSATION]);
    expect(answer.headers.link).toBe('<?limit=10&offset=12>; rel="next"');
    gateway.reader.next = undefined;
    expect((await gateway.get('/api/v1/conversations?limit=1')).headers.link).toContain('offset=1>');
    expect((await gateway.get('/api/v1/conversations?limit=2')).headers).not.toHaveProperty('link');
  });

  test.each(['any;-;+15550100', 'any%3B-%3B%2B15550100', 'any;-;%2B15550100'])('one is found by %s', async (id) => {
    expect((await gateway.get(`/api/v1/conversations/${id}`)).json).toEqual(CONVERSATION);
  });

  test('an unknown one is 404', async () => {
    const answer = await gateway.get('/api/v1/conversations/any;-;nobody');
    expect(answer).toMatchObject({ status: 404, json: { code: 'conversation_not_found' } });
  });
});

describe('webhooks', () => {
  const registration = { url: 'https://example.net/hook', events: ['message.sent'], secret: 'quiet' };

  test('are registered, listed without their secret, and removed', async () => {
    const made = await gateway.post('/api/v1/webhooks', { ...registration, include: ['details'] });
    const shown = { id: 'w0', url: registration.url, events: ['message.sent'], created_at: '2026-01-02T03:04:05Z' };
    expect(made).toMatchObject({ status: 201, headers: { location: 'webhooks/w0' } });
    expect(made.text).toBe(JSON.stringify(shown));
    expect(gateway.webhooks.get('w0')).toMatchObject({ secret: 'quiet', include: new Set(['details']) });
    expect((await gateway.get('/api/v1/webhooks')).text).toBe(JSON.stringify([shown]));
    const removed = await gateway.call('DELETE', '/api/v1/webhooks/w0');
    expect(removed).toMatchObject({ status: 204, text: '' });
    expect(removed.headers).not.toHaveProperty('content-type');
    expect((await gateway.call('DELETE', '/api/v1/webhooks/w0')).json).toMatchObject({ code: 'webhook_not_found' });
    expect((await gateway.get('/api/v1/webhooks')).text).toBe('[]');
  });

  test('without a secret have none', async () => {
    await gateway.post('/api/v1/webhooks', { url: 'http://a', events: ['message.sent'] });
    expect(gateway.webhooks.get('w0')).toMatchObject({ secret: null, include: new Set() });
  });

  test('one too many is 409', async () => {
    gateway.webhooks.limit = 0;
    expect((await gateway.post('/api/v1/webhooks', registration)).status).toBe(409);
  });

  test('a mistaken one is 400 and registers nothing', async () => {
    const answer = await gateway.post('/api/v1/webhooks', { url: 'ftp://a', events: ['message.seen'] });
    expect((answer.json as { errors: unknown[] }).errors).toHaveLength(2);
    expect(gateway.webhooks.list()).toEqual([]);
  });
});

describe('every path', () => {
  test('answers HEAD as GET, without the body', async () => {
    for (const path of ['/api/v1/messages', '/api/v1/messages/7', '/api/v1/messages/8', '/api/v1/health']) {
      const [head, get] = [await gateway.call('HEAD', path), await gateway.get(path)];
      expect(head).toMatchObject({ status: get.status, text: '' });
      expect(head.headers['content-length']).toBe(get.headers['content-length']);
      expect(head.headers['content-type']).toBe(get.headers['content-type']);
    }
  });

  test.each([
    ['PUT', '/api/v1/messages', 'POST, GET, HEAD'],
    ['POST', '/api/v1/messages/7', 'GET, HEAD'],
    ['PUT', '/api/v1/webhooks/w0', 'DELETE, GET, HEAD, PATCH'],
    ['GET', '/api/v1/webhooks/w0/test', 'POST'],
    ['HEAD', '/api/v1/webhooks/w0/replay', 'POST'],
    ['POST', '/api/v1/health', 'GET, HEAD'],
    ['OPTIONS', '/api/v1/messages', 'POST, GET, HEAD'],
    ['PURGE', '/api/v1/conversations', 'GET, HEAD'],
  ])('says which methods it allows: %s %s', async (method, path, allow) => {
    const answer = await gateway.call(method, path);
    expect(answer).toMatchObject({ status: 405, headers: { allow } });
  });

  test.each(['/', '/api', '/api/v1', '/api/v2/messages', '/api/v1/messages/7/8', '/api/v1/nothing', '/%2e%2e/x'])(
    'that is unknown is 404: %s',
    async (path) => {
      expect(await gateway.get(path)).toMatchObject({ status: 404, json: { code: 'not_found' } });
    },
  );

  test('leaves one line in the log: its pattern, not itself', async () => {
    await gateway.get('/api/v1/conversations/any;-;+15550100?since=2020-01-01', { headers: { 'x-request-id': 'r-1' } });
    await gateway.get('/api/v1/nothing/+15550100');
    expect(gateway.log.lines).toEqual([
      {
        level: 'info',
        message: 'request',
        fields: {
          requestId: 'r-1',
          method: 'GET',
          route: '/api/v1/conversations/{id}',
          status: 200,
          ms: expect.any(Number),
        },
      },
      expect.objectContaining({ fields: expect.objectContaining({ route: '-', status: 404 }) }),
    ]);
    expect(JSON.stringify(gateway.log.lines)).not.toContain('5550100');
  });
});

describe('the people of a demo', () => {
  test.each(['say', 'react'])('are nowhere in a service that is none: %s', async (what) => {
    const body = JSON.stringify({ from: '+15550100', text: 'x', message_id: '7', reaction: 'love' });
    const call = { headers: { 'content-type': 'application/json' }, body };
    const path = `/api/v1/demo/${what}`;
    expect(await gateway.call('POST', path, call)).toMatchObject({ status: 404, json: { code: 'not_found' } });
    expect((await gateway.call('POST', path, { ...call, key: false })).status).toBe(401);
  });
});
