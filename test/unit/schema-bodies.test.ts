import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import type { z } from 'zod';
import { sendBody } from '../../src/core/http/messages/schema.ts';
import { replayBody, webhookBody, webhookChangesBody } from '../../src/core/http/webhooks/schema.ts';
import { checkBody } from '../../src/core/schema/mistakes.ts';

function pointers(schema: z.ZodType, body: unknown): string[] {
  const checked = checkBody(schema, body);
  return checked.ok ? [] : checked.mistakes.map(({ pointer }) => pointer);
}

function sentences(schema: z.ZodType, body: unknown): string {
  const checked = checkBody(schema, body);
  return checked.ok ? '' : checked.mistakes.map(({ message }) => message).join(' ');
}

describe('the body of a send', () => {
  const good = { recipient: '+15550100', body: 'hello' };

  test('needs a recipient and a body, and ignores what it does not know', () => {
    expect(checkBody(sendBody, { ...good, more: 1 })).toEqual({ ok: true, value: good });
    expect(pointers(sendBody, {})).toEqual(['/recipient', '/body']);
  });

  test('names every mistake at once', () => {
    expect(pointers(sendBody, { recipient: 5, body: null, attachments: {} })).toEqual([
      '/recipient',
      '/body',
      '/attachments',
    ]);
    expect(pointers(sendBody, { recipient: ' ', body: '', attachments: [] })).toEqual(['/recipient', '/body']);
    expect(pointers(sendBody, { ...good, attachments: ['/a', 'b', 3, '/\0', '~/c'] })).toEqual([
      '/attachments/1',
      '/attachments/2',
      '/attachments/3',
      '/attachments/4',
    ]);
  });

  test.each([null, 1, 'text', true, []])('must be an object, not %j', (body) => {
    expect(checkBody(sendBody, body)).toEqual({
      ok: false,
      mistakes: [{ pointer: '', message: 'The body must be a JSON object.' }],
    });
  });

  test('counts characters, not code units', () => {
    expect(pointers(sendBody, { ...good, body: '👋'.repeat(20_000) })).toEqual([]);
    expect(pointers(sendBody, { ...good, body: '👋'.repeat(20_001) })).toEqual(['/body']);
    expect(pointers(sendBody, { ...good, body: 'x'.repeat(20_001) })).toEqual(['/body']);
    expect(pointers(sendBody, { ...good, recipient: 'x'.repeat(512) })).toEqual([]);
    expect(pointers(sendBody, { ...good, recipient: 'x'.repeat(513) })).toEqual(['/recipient']);
  });

  test('may be any text but a NUL or half a character', () => {
    expect(pointers(sendBody, { ...good, body: 'a\r\n\t\u0007\u{1f600}\ufffd\u2028' })).toEqual([]);
    expect(pointers(sendBody, { ...good, body: 'a\0' })).toEqual(['/body']);
    expect(pointers(sendBody, { ...good, body: '\ud83d!' })).toEqual(['/body']);
  });

  test.each(['', '  ', '\t', '+1\n555', 'a\u0000', 'a\u007f', 'a\u0085', '\udc00'])(
    'refuses the recipient %j',
    (recipient) => {
      expect(new Set(pointers(sendBody, { ...good, recipient }))).toEqual(new Set(['/recipient']));
    },
  );

  test('may be empty only with attachments, of which there are at most ten', () => {
    expect(sentences(sendBody, { ...good, body: '' })).toContain('nothing to send');
    expect(pointers(sendBody, { ...good, body: '', attachments: ['/a'] })).toEqual([]);
    expect(pointers(sendBody, { ...good, attachments: Array(10).fill('/a') })).toEqual([]);
    expect(pointers(sendBody, { ...good, attachments: Array(11).fill('/a') })).toEqual(['/attachments']);
  });

  test('with a hundred thousand wrong attachments is one mistake', () => {
    expect(pointers(sendBody, { ...good, attachments: Array(100_000).fill(1) })).toEqual(['/attachments']);
  });

  test('whatever it is, it is accepted or refused', () => {
    fc.assert(fc.property(fc.anything(), (body) => void checkBody(sendBody, body)));
  });
});

describe('the settings of a webhook', () => {
  const good = { url: 'https://example.net/hook', events: ['message.sent'] };
  const settings = {
    name: 'n8n',
    enabled: false,
    headers: { Authorization: 'Bearer x', 'X-Trace': 'a b' },
    on_failure: 'hold',
    filter: { conversation_ids: ['any;-;+15550100'], senders: ['+15550100'], is_from_me: false },
  };

  test('are taken at the registration and afterwards, where null takes them away', () => {
    expect(checkBody(webhookBody, { ...good, ...settings })).toEqual({ ok: true, value: { ...good, ...settings } });
    expect(checkBody(webhookChangesBody, settings)).toEqual({ ok: true, value: settings });
    expect(checkBody(webhookChangesBody, {})).toEqual({ ok: true, value: {} });
    const without = { name: null, secret: null, filter: null, headers: null };
    expect(checkBody(webhookChangesBody, without)).toEqual({ ok: true, value: without });
    expect(pointers(webhookBody, { ...good, ...without })).toEqual(['/secret', '/name', '/headers', '/filter']);
    expect(checkBody(webhookChangesBody, { headers: { 'X-A': null } })).toMatchObject({ ok: true });
    expect(pointers(webhookBody, { ...good, headers: { 'X-A': null } })).toEqual(['/headers/X-A']);
  });

  test('name every mistake at once, and never a value of a header', () => {
    const bad = {
      name: ' ',
      enabled: 'yes',
      headers: { 'X-A': 'sesame\n', 'X-B': '', 'X-C': 7 },
      on_failure: 'wait',
      filter: { conversation_ids: [], senders: ['', 5], is_from_me: 1, sender: 'x' },
    };
    for (const schema of [webhookChangesBody, webhookBody]) {
      expect(pointers(schema, { ...good, ...bad })).toEqual([
        '/name',
        '/enabled',
        '/headers/X-A',
        '/headers/X-B',
        '/headers/X-C',
        '/on_failure',
        '/filter/conversation_ids',
        '/filter/senders/0',
        '/filter/senders/1',
        '/filter/is_from_me',
        '/filter',
      ]);
      expect(sentences(schema, { ...good, ...bad })).not.toContain('sesame');
    }
    expect(sentences(webhookChangesBody, { filter: { sender: 'x' } })).toContain('not "sender"');
    expect(pointers(webhookChangesBody, { filter: { conversation_ids: ['+15550100'] } })).toEqual([
      '/filter/conversation_ids/0',
    ]);
  });

  test.each([0, 59, -1, 90.5, '1800', '-1', 'abc', '', null])('refuse the age %j in a filter by name', (value) => {
    for (const schema of [webhookChangesBody, webhookBody]) {
      const body = { ...good, filter: { max_age_s: value } };
      expect(pointers(schema, body)).toEqual(['/filter/max_age_s']);
      expect(sentences(schema, body)).toContain('`max_age_s` must be a whole number of seconds, 60 or more');
    }
  });

  test.each([
    'Content-Type',
    'content-length',
    'X-Webhook-Signature',
    'x-webhook-anything',
    'webhook-id',
    'User-Agent',
    'Accept',
    'Host',
    'Connection',
    'Transfer-Encoding',
    'Expect',
    'Proxy-Authorization',
    'two words',
    'colon:',
    '',
    '-x',
    '__proto__x',
    'ü',
  ])('refuse the header %j', (name) => {
    expect(pointers(webhookChangesBody, { headers: { [name]: 'v' } })).toEqual([`/headers/${name}`]);
  });

  test('have at most ten headers, each of one spelling', () => {
    const many = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, n) => [`X-${n}`, 'v']));
    expect(pointers(webhookChangesBody, { headers: many(10) })).toEqual([]);
    expect(pointers(webhookChangesBody, { headers: many(11) })).toEqual(['/headers']);
    expect(pointers(webhookChangesBody, { headers: { 'X-A': 'v', 'x-a': 'w' } })).toEqual(['/headers/x-a']);
    expect(pointers(webhookChangesBody, { headers: { 'a/b~': 'v' } })).toEqual(['/headers/a~1b~0']);
  });
});

describe('the body of a replay', () => {
  test('is one of a position, the newest event, and what was dropped', () => {
    expect(checkBody(replayBody, { after: 7 })).toEqual({ ok: true, value: { after: { rowId: 7 } } });
    expect(checkBody(replayBody, { after: 'latest' })).toEqual({ ok: true, value: { after: 'latest' } });
    expect(checkBody(replayBody, { dropped: true })).toEqual({ ok: true, value: { dropped: true } });
    for (const bad of [{}, { after: 7, dropped: true }, { after: 'all' }, { after: null }]) {
      expect(pointers(replayBody, bad)).toEqual(['/after']);
    }
    expect(pointers(replayBody, { dropped: false })).toEqual(['/dropped']);
    expect(sentences(replayBody, { after: 'all' })).toContain('"latest"');
  });
});

describe('the registration of a webhook', () => {
  const good = { url: 'https://example.net/hook', events: ['message.sent'] };

  test('folds duplicate events and takes the optional members', () => {
    const body = {
      ...good,
      events: ['message.sent', 'reaction.added', 'message.sent'],
      secret: 's',
      include: ['details'],
    };
    expect(checkBody(webhookBody, body)).toEqual({
      ok: true,
      value: { ...body, events: ['message.sent', 'reaction.added'], include: new Set(['details']) },
    });
  });

  test('names every mistake at once', () => {
    expect(pointers(webhookBody, {})).toEqual(['/url', '/events']);
    expect(
      pointers(webhookBody, { url: 'ftp://x', events: ['message.sent', 'foo', 7], secret: '', include: ['all'] }),
    ).toEqual(['/url', '/events/1', '/events/2', '/secret', '/include/0']);
    expect(pointers(webhookBody, { ...good, events: [] })).toEqual(['/events']);
    expect(pointers(webhookBody, { ...good, events: 'message.sent', secret: null })).toEqual(['/events', '/secret']);
  });

  test.each([
    '',
    'x',
    '/hook',
    'ftp://a',
    'http:a',
    'http://',
    'http:///',
    'javascript:1',
    'http://a b',
    'http://a\n',
    ' http://a',
    'http://[::1',
    'http://a:99999',
  ])('refuses the url %j', (url) => {
    expect(pointers(webhookBody, { ...good, url })).toEqual(['/url']);
  });

  test.each([
    ['http://a', 'http://a/'],
    ['HTTPS://A.example:8443/x?y=z#f', 'https://a.example:8443/x?y=z#f'],
    ['http://user:password@127.0.0.1/', 'http://user:password@127.0.0.1/'],
    ['http://[::1]:80/ü', 'http://[::1]/%C3%BC'],
    ['http://127.0.0.1:80\\@evil/', 'http://127.0.0.1/@evil/'],
  ])('takes the url %j as the parser writes it', (url, written) => {
    expect(checkBody(webhookBody, { ...good, url })).toMatchObject({ ok: true, value: { url: written } });
  });

  test('has bounds', () => {
    expect(pointers(webhookBody, { ...good, url: `http://a/${'x'.repeat(2039)}` })).toEqual([]);
    expect(pointers(webhookBody, { ...good, url: `http://a/${'x'.repeat(2040)}` })).toEqual(['/url']);
    expect(pointers(webhookBody, { ...good, secret: '🔑'.repeat(256) })).toEqual([]);
    expect(pointers(webhookBody, { ...good, secret: 'x'.repeat(257) })).toEqual(['/secret']);
    expect(pointers(webhookBody, { ...good, events: Array(65).fill('message.sent') })).toEqual(['/events']);
  });
});
