import { once } from 'node:events';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import WebSocket from 'ws';
import {
  AccessFixture,
  ANA,
  BEN,
  BOOK_CLUB,
  CLEO,
  GARDEN,
  type KeyAnswer,
  MALLORY,
} from '../support/access-fixture.ts';
import { nextOf } from '../support/next-page.ts';
import { Listener } from '../support/service.ts';

let fixture: AccessFixture;
beforeAll(async () => {
  fixture = await AccessFixture.start();
});
afterAll(() => fixture.dispose());

const bodiesOf = (json: unknown): readonly string[] => (json as { body: string }[]).map(({ body }) => body);

describe('a key', () => {
  test('is shown once, is kept as a hash alone, and opens what its scopes say', async () => {
    const { record, get } = await fixture.key({ preset: 'reader', read: [ANA] });
    expect(record).toMatchObject({
      scopes: ['read', 'events'],
      read: [ANA],
      send: [],
      approval: 'always',
      caps: { per_minute: 10, per_day: 100, new_contacts_per_day: 5 },
      dry_run: false,
      closed: [],
    });
    expect(record.key).toMatch(new RegExp(`^postern_${record.id}_[\\w-]{43}$`));
    const shown = await fixture.service.get(`/keys/${record.id}`);
    expect(shown.text).not.toContain(record.key.slice(17));
    for (const file of ['state.db', 'state.db-wal']) {
      expect(fixture.service.stateFile(file).includes(record.key.slice(17))).toBe(false);
    }
    expect(fixture.service.output).not.toContain(record.key.slice(17));
    expect((await get('/keys/me')).json).toMatchObject({ id: record.id, read: [ANA] });
  });

  test('counts as wrong in the same words whether it is unknown, altered, expired or revoked', async () => {
    const { record, get } = await fixture.key({ preset: 'reader', read: '*' });
    const wrong = await fixture.service.get('/messages', { 'x-api-key': 'postern_wrong' });
    const { record: live } = await fixture.key({ preset: 'reader', read: '*' });
    const altered = `${live.key.slice(0, -1)}${live.key.endsWith('A') ? 'B' : 'A'}`;
    const unknown = record.key.replace(record.id, '00000000');
    const expired = await fixture.key({ preset: 'reader', read: '*', expires_at: '2020-01-01T00:00:00Z' });
    expect((await fixture.service.request('DELETE', `/keys/${record.id}`)).status).toBe(204);
    const answers = [
      await fixture.service.get('/messages', { 'x-api-key': altered }),
      await fixture.service.get('/messages', { 'x-api-key': unknown }),
      await expired.get('/messages'),
      await get('/messages'),
    ];
    for (const answer of answers) expect([answer.status, answer.text]).toEqual([401, wrong.text]);
    expect((await fixture.service.get(`/keys/${record.id}`)).json).toMatchObject({ code: 'key_not_found' });
  });

  test('has a new secret after a rotation, and the old one still works for a day', async () => {
    const { record, get } = await fixture.key({ preset: 'reader', read: [ANA] });
    const rotated = (await fixture.service.post(`/keys/${record.id}/rotate`, {})).json as KeyAnswer;
    expect(rotated.key).not.toBe(record.key);
    expect((await get('/messages')).status).toBe(200);
    expect((await fixture.service.get('/messages', { 'x-api-key': rotated.key })).status).toBe(200);
  });

  test('may come as a Bearer token; the owner’s may not, and two different keys are none', async () => {
    const { record } = await fixture.key({ preset: 'reader', read: [ANA] });
    const authorization = `Bearer ${record.key}`;
    const none = { 'x-api-key': '' };
    const { service } = fixture;
    expect((await service.get('/messages', { ...none, authorization })).status).toBe(200);
    expect((await service.get('/messages', { ...none, authorization: 'Bearer a-key-for-all-the-tests' })).status).toBe(
      401,
    );
    expect((await service.get('/messages', { authorization })).status).toBe(401);
    expect((await service.get('/messages', { 'x-api-key': record.key, authorization })).status).toBe(200);
    // A proxy may use a Bearer token of its own: the answer stays the same as before.
    expect((await service.get('/messages', { authorization: 'Bearer of-a-proxy' })).status).toBe(200);
  });

  test('keeps its rights over a restart', async () => {
    const { get } = await fixture.key({ preset: 'reader', read: [BEN] });
    await fixture.service.stop();
    await fixture.service.launch();
    expect(bodiesOf((await get('/messages')).json)).toEqual(['from-ben']);
  });
});

describe('bad input for a key', () => {
  test.each([
    ['nothing', {}, ['/name']],
    ['a preset and scopes', { name: 'x', preset: 'reader', scopes: ['read'] }, ['/preset']],
    ['no scopes', { name: 'x' }, ['/scopes']],
    ['send and approve', { name: 'x', scopes: ['send', 'approve'] }, ['/scopes']],
    ['webhooks without events', { name: 'x', scopes: ['webhooks'] }, ['/scopes']],
    [
      'people who are nobody',
      { name: 'x', preset: 'reader', read: ['Ana', '5550100', '262966', ANA, 'any;-;nobody'] },
      ['/read/0', '/read/1', '/read/2', '/read/4'],
    ],
    ['a list that is a number', { name: 'x', preset: 'reader', send: 5 }, ['/send']],
    [
      'caps out of range',
      { name: 'x', preset: 'reader', caps: { per_minute: -1, per_day: 1e9 } },
      ['/caps/per_minute', '/caps/per_day'],
    ],
    ['an expiry that is no instant', { name: 'x', preset: 'reader', expires_at: 'tomorrow' }, ['/expires_at']],
  ])('%s', async (_what, body, pointers) => {
    const answer = await fixture.service.post('/keys', body);
    const { errors } = answer.json as { errors: { pointer: string }[] };
    expect([answer.status, errors.map(({ pointer }) => pointer)]).toEqual([400, pointers]);
  });
});

describe('what a key may not read does not exist for it', () => {
  test('in the same words as what never was', async () => {
    const { get } = await fixture.key({ preset: 'reader', read: [ANA] });
    const pairs = [
      [`/messages/${fixture.messages[`any;-;${BEN}`]}`, '/messages/999999'],
      [`/messages/${fixture.messages[`any;-;${BEN}`]}/attachments/0`, '/messages/999999/attachments/0'],
      [`/conversations/${encodeURIComponent(`any;-;${BEN}`)}`, '/conversations/any;-;+15559999'],
      [`/messages?conversation_id=${encodeURIComponent(GARDEN)}`, '/messages?conversation_id=any;%2B;chat0'],
      [
        `/messages?conversation_id=${encodeURIComponent(GARDEN)}&cursor=x`,
        '/messages?conversation_id=any;%2B;chat0&cursor=x',
      ],
    ] as const;
    for (const [there, never] of pairs) {
      const [one, other] = [await get(there), await get(never)];
      expect([there, one.status, one.text]).toEqual([there, other.status, other.text]);
    }
  });

  test('a list that was narrowed holds for the very next request', async () => {
    const { get, record } = await fixture.key({ preset: 'reader', read: [ANA, BEN] });
    const path = `/messages/${fixture.messages[`any;-;${BEN}`]}`;
    expect((await get(path)).status).toBe(200);
    await fixture.service.request('PATCH', `/keys/${record.id}`, {
      body: JSON.stringify({ read: [ANA] }),
      headers: { 'content-type': 'application/json' },
    });
    expect((await get(path)).status).toBe(404);
    expect(bodiesOf((await get('/messages')).json)).toEqual(['from-ana']);
  });

  test('only files of messages that it may read are available', async () => {
    const { get } = await fixture.key({ preset: 'reader', read: [ANA] });
    expect((await get(`/messages/${fixture.messages[`any;-;${ANA}`]}/attachments/0`)).text).toBe('from-ana');
    expect((await get(`/messages/${fixture.messages[`any;-;${BEN}`]}/attachments/0`)).status).toBe(404);
  });

  test('a listed address opens the one-to-one conversation alone, and no group', async () => {
    const { get } = await fixture.key({ preset: 'reader', read: [ANA, CLEO] });
    expect(bodiesOf((await get('/messages')).json)).toEqual(['from-cleo', 'from-ana']);
  });

  test('a conversation is named by a bare address too, as at the owner', async () => {
    const { get } = await fixture.key({ preset: 'reader', read: [CLEO] });
    expect(bodiesOf((await get(`/messages?conversation_id=${CLEO}`)).json)).toEqual(['from-cleo']);
    expect(bodiesOf((await get(`/messages?conversation_id=${encodeURIComponent(ANA)}`)).json)).toEqual([]);
  });

  test('a group is opened by its id, whatever service the id names', async () => {
    const { get, record } = await fixture.key({ preset: 'reader', read: ['iMessage;+;chat77'] });
    expect(record.read).toEqual([GARDEN]);
    expect(bodiesOf((await get('/messages')).json)).toEqual(['in-the-garden']);
  });

  test('a one-to-one conversation is judged by its member, not by what its id says', async () => {
    const { get } = await fixture.key({ preset: 'reader', read: ['+15550120'] });
    expect((await get('/messages')).json).toEqual([]);
    const mallory = await fixture.key({ preset: 'reader', read: [MALLORY] });
    expect(bodiesOf((await mallory.get('/messages')).json)).toEqual(['from-an-impostor']);
  });

  test('pages over several conversations are those of the whole list without the others', async () => {
    const { get } = await fixture.key({ preset: 'reader', read: [ANA, BEN, CLEO, GARDEN, BOOK_CLUB] });
    const seen: string[] = [];
    let path: string | undefined = '/messages?limit=2';
    while (path !== undefined) {
      const answer = await get(path);
      seen.push(...bodiesOf(answer.json));
      path = nextOf(answer);
    }
    expect(seen).toEqual(['in-the-book-club', 'in-the-garden', 'from-cleo', 'from-ben', 'from-ana']);
    expect(bodiesOf((await get('/messages?order=asc&limit=3&offset=1')).json)).toEqual([
      'from-ben',
      'from-cleo',
      'in-the-garden',
    ]);
  });

  test('a key that saw few events learns where to continue after those it may not see', async () => {
    const { get } = await fixture.key({ preset: 'reader', read: [ANA] });
    const first = await get('/events?after=0&limit=1');
    expect(first.json).toMatchObject([{ data: { body: 'from-ana' } }]);
    const next = nextOf(first) ?? '';
    const rest = await get(next.replace('limit=1', 'limit=100'));
    expect(rest.json).toMatchObject([{ type: 'reaction.added', data: { conversation_id: `any;-;${ANA}` } }]);
    const end = /after=(\d+)>/.exec(rest.headers.get('link') ?? '')?.[1];
    const { newest_row: newest } = (await fixture.service.get('/status')).json as { newest_row: number };
    expect(Number(end)).toBe(newest);
  });

  test('names, webhooks and the state of webhooks are only its own', async () => {
    await fixture.service.post('/webhooks', { url: 'http://127.0.0.1:9/owner', events: ['message.received'] });
    const { get, post, request } = await fixture.key({ scopes: ['events', 'webhooks'], read: [ANA] });
    expect((await post('/webhooks', { url: 'http://example.net/', events: ['message.received'] })).json).toMatchObject({
      code: 'webhook_not_allowed',
    });
    const own = (await post('/webhooks', { url: 'http://127.0.0.1:9/own', events: ['message.received'] })).json as {
      id: string;
    };
    expect((await get('/webhooks')).json).toMatchObject([{ id: own.id }]);
    expect((await get('/status')).json).toMatchObject({ webhooks: [{ id: own.id }] });
    const [owners] = ((await fixture.service.get('/webhooks')).json as { id: string; url: string }[]).filter(
      ({ url }) => url.endsWith('/owner'),
    );
    const [theirs, none] = [await get(`/webhooks/${owners?.id}`), await get('/webhooks/nothing')];
    expect([theirs.status, theirs.text]).toEqual([404, none.text]);
    expect((await request('DELETE', `/webhooks/${owners?.id}`)).status).toBe(404);
  });
});

describe('a WebSocket under a limited key', () => {
  const open = async (key: string, query = ''): Promise<Listener> => {
    const socket = new WebSocket(`ws://127.0.0.1:${fixture.service.port}/api/v1/ws?api_key=${key}${query}`);
    const listener = new Listener(socket);
    await once(socket, 'open');
    return listener;
  };

  test('is sent what its list names, live and resumed', async () => {
    const { record } = await fixture.key({ preset: 'reader', read: [ANA] });
    const resumed = await open(record.key, '&after=0');
    await resumed.event(({ data }) => data.body === 'from-ana');
    const live = await open(record.key);
    fixture.chats.message({
      chat: fixture.chatIds[`any;-;${BEN}`] ?? 0,
      text: 'live from Ben',
      handle_id: fixture.chats.handle(BEN),
    });
    fixture.chats.message({
      chat: fixture.chatIds[`any;-;${ANA}`] ?? 0,
      text: 'live from Ana',
      handle_id: fixture.chats.handle(ANA),
    });
    for (const listener of [live, resumed]) {
      await listener.event(({ data }) => data.body === 'live from Ana');
      expect(listener.frames.filter((frame) => !frame.includes(ANA))).toEqual([]);
      await listener.close();
    }
  });

  test('of a revoked key is closed with 1008 at once', async () => {
    const { record } = await fixture.key({ preset: 'reader', read: '*' });
    const listener = await open(record.key);
    const closed = once(listener.socket, 'close');
    await fixture.service.request('DELETE', `/keys/${record.id}`);
    expect((await closed)[0]).toBe(1008);
  });

  test('follows a list that was narrowed', async () => {
    const { record } = await fixture.key({ preset: 'reader', read: '*' });
    const listener = await open(record.key);
    const answer = await fixture.service.request('PATCH', `/keys/${record.id}`, {
      body: JSON.stringify({ read: [ANA] }),
      headers: { 'content-type': 'application/json' },
    });
    expect(answer.json).toMatchObject({ read: [ANA] });
    fixture.chats.message({
      chat: fixture.chatIds[`any;-;${BEN}`] ?? 0,
      text: 'after the change',
      handle_id: fixture.chats.handle(BEN),
    });
    fixture.chats.message({
      chat: fixture.chatIds[`any;-;${ANA}`] ?? 0,
      text: 'the last one',
      handle_id: fixture.chats.handle(ANA),
    });
    await listener.event(({ data }) => data.body === 'the last one');
    expect(listener.frames.join()).not.toContain('after the change');
    await listener.close();
  });
});
