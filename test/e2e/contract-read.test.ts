import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { appleNs, ChatFixture } from '../support/chat-fixture.ts';
import { nextOf } from '../support/next-page.ts';
import { KEY, Service } from '../support/service.ts';

const home = mkdtempSync(join(tmpdir(), 'postern-contract-'));
const database = new ChatFixture(join(home, 'Library/Messages/chat.db'));
let service: Service;

const ANA = '+15550100';
const BEN = 'ben@example.com';
const ana = database.chat(`any;-;${ANA}`, [ANA]);
const group = database.chat('any;+;chat42', [ANA, BEN], { display_name: 'Garden' });
const unnamed = database.chat('any;+;chat43', [ANA, BEN], { display_name: '' });
// The same person on another service is a different handle.
database.insert('chat_handle_join', { chat_id: unnamed, handle_id: database.handle(ANA, 'SMS') });
const empty = database.chat(`any;-;${BEN}`, [BEN]);
const at = (iso: string): bigint => appleNs(iso);

const hello = database.message({
  chat: ana,
  text: 'Hello',
  handle_id: database.handle(ANA),
  date: at('2026-01-01T10:00:00.900Z'),
});
const reply = database.message({
  chat: ana,
  text: 'Hi Ana',
  is_from_me: 1,
  account: 'E:me@example.com',
  date: at('2026-01-01T10:00:01Z'),
  date_read: at('2026-01-01T10:05:00Z'),
});
const photo = database.message({
  chat: group,
  text: '\uFFFCLook',
  handle_id: database.handle(BEN),
  date: at('2026-01-01T11:00:00Z'),
});
database.attach(photo, '~/Library/Messages/Attachments/a/photo.heic');
database.attach(photo, '/private/var/b.bin');
database.attach(photo, '~/Library/Messages/Attachments/hidden.plist', { hide_attachment: 1 });
const heart = database.message({
  chat: group,
  text: 'Loved “Look”',
  handle_id: database.handle(ANA),
  date: at('2026-01-01T11:00:05Z'),
  associated_message_type: 2000,
  associated_message_guid: `p:0/${database.guid(photo)}`,
});
database.message({ chat: unnamed, text: 'old seconds', handle_id: database.handle(BEN), date: 400_000_000 });

beforeAll(async () => {
  service = await Service.here({ chatDbPath: database.path });
});
afterAll(async () => {
  await service.dispose();
  database.close();
  rmSync(home, { recursive: true, force: true });
});

type Item = Readonly<Record<string, unknown>>;
const list = async (path: string): Promise<readonly Item[]> => {
  const answer = await service.get(path);
  expect(answer.status).toBe(200);
  return answer.json as readonly Item[];
};
const ids = (items: readonly Item[]): unknown[] => items.map((item) => item.id);

describe('GET /health', () => {
  test('returns the health record without a key', async () => {
    const answer = await service.get('/health', { 'x-api-key': '' });
    expect(answer.status).toBe(200);
    expect(answer.headers.get('content-type')).toMatch(/^application\/json/);
    expect(answer.text).toBe('{"status":"ok","backend":{"connected":true,"message":null}}');
  });
});

describe('Message', () => {
  test('has exactly the documented fields', async () => {
    expect((await service.get(`/messages/${hello}`)).json).toEqual({
      id: String(hello),
      guid: database.guid(hello),
      conversation_id: `any;-;${ANA}`,
      sender: ANA,
      body: 'Hello',
      attachments: [],
      timestamp: '2026-01-01T10:00:00Z',
      is_from_me: false,
      status: 'delivered',
    });
  });

  test('of one’s own carries the own address and the other side’s receipts', async () => {
    expect((await service.get(`/messages/${reply}`)).json).toMatchObject({
      sender: 'me@example.com',
      is_from_me: true,
      status: 'read',
    });
  });

  test('lists attachments as absolute paths, hidden ones left out', async () => {
    expect((await service.get(`/messages/${photo}`)).json).toMatchObject({
      body: 'Look',
      attachments: [join(home, 'Library/Messages/Attachments/a/photo.heic'), '/private/var/b.bin'],
    });
  });

  test('a raw value up to 1e10 is seconds since 2001', async () => {
    const [message] = await list('/messages?conversation_id=any;%2B;chat43');
    expect(message).toMatchObject({ timestamp: '2013-09-04T15:06:40Z' });
  });

  test.each(['999999', '0', '-1', 'abc', '1.5', '99999999999999999999'])('id %s is unknown: 404', async (id) => {
    expect((await service.get(`/messages/${id}`)).status).toBe(404);
  });

  test('a reaction is no message', async () => {
    expect((await service.get(`/messages/${heart}`)).status).toBe(404);
    expect(ids(await list('/messages'))).not.toContain(String(heart));
  });
});

describe('GET /messages', () => {
  test('the same when the reader thread makes the list', async () => {
    expect(await list('/messages?offset=3000')).toEqual([]);
    const short = await list('/messages?include=details');
    expect(await list('/messages?include=details&limit=200')).toEqual(short);
  });

  test('newest first, every conversation', async () => {
    const found = await list('/messages');
    expect(ids(found).slice(0, 3)).toEqual([photo, reply, hello].map(String));
    expect(found).toHaveLength(4);
  });

  test('order=asc turns it round', async () => {
    const forward = ids(await list('/messages'));
    expect(ids(await list('/messages?order=asc'))).toEqual(forward.toReversed());
  });

  test('filters by conversation, written with a raw plus, an encoded one, a blank for it, or another prefix', async () => {
    const bare = [ANA, '%2B15550100', '%2015550100', 'any;-;%2015550100'];
    for (const id of [
      ...bare,
      `any;-;${ANA}`,
      `any;-;%2B15550100`,
      `iMessage;-;${ANA}`,
      `SMS%3B-%3B${ANA}`,
      `RCS;-;${ANA}`,
    ]) {
      expect(ids(await list(`/messages?conversation_id=${id}`))).toEqual([reply, hello].map(String));
    }
  });

  test('an unknown conversation is an empty list', async () => {
    expect(await list('/messages?conversation_id=any;-;nobody')).toEqual([]);
  });

  test.each([
    ['2026-01-01T10:00:00Z', 3],
    ['2026-01-01T10:00:00.900Z', 2],
    ['2026-01-01T10:00:01Z', 1],
    ['2026-01-01T11:00:00+01:00', 3],
    ['2026-01-01T10:59:59.999999999Z', 1],
    ['2026-01-01', 3],
    ['2026-01-02', 0],
    ['1999-12-31T23:59:59Z', 4],
  ])('since=%s is strictly after, compared with the exact instant', async (since, count) => {
    expect(await list(`/messages?since=${since}`)).toHaveLength(count);
  });

  test('limit and offset page through it, with a link to what follows', async () => {
    const all = ids(await list('/messages'));
    expect(ids(await list('/messages?limit=2'))).toEqual(all.slice(0, 2));
    expect(ids(await list('/messages?limit=2&offset=1'))).toEqual(all.slice(1, 3));
    expect(await list('/messages?offset=100')).toEqual([]);
    const seen: unknown[] = [];
    let next: string | undefined = '/messages?limit=1';
    while (next !== undefined) {
      const answer = await service.get(next);
      seen.push(...ids(answer.json as Item[]));
      next = nextOf(answer);
    }
    expect(seen).toEqual(all);
  });

  test('a limit above 200 is treated as 200', async () => {
    const id = database.chat('any;-;many@example.com', ['many@example.com']);
    for (let count = 0; count < 205; count += 1) {
      database.message({ chat: id, text: `n ${count}`, date: at('2020-01-01T00:00:00Z') + BigInt(count) });
    }
    expect(await list('/messages?limit=1000')).toHaveLength(200);
    expect(await list('/messages')).toHaveLength(50);
    expect(ids(await list('/conversations?limit=100000'))).toContain('any;-;many@example.com');
  });

  test.each([
    ['limit=0', ['?limit']],
    ['limit=-1&offset=-1', ['?limit', '?offset']],
    ['limit=1.5', ['?limit']],
    ['limit=abc&since=yesterday&offset=x', ['?limit', '?offset', '?since']],
    ['since=2026-02-30', ['?since']],
    ['since=2026-01-01T25:00:00Z', ['?since']],
    ['order=up', ['?order']],
    ['conversation_id=%00', ['?conversation_id']],
  ])('%s is 400 and every mistake is named', async (query, pointers) => {
    const answer = await service.get(`/messages?${query}`);
    expect(answer.status).toBe(400);
    expect(answer.headers.get('content-type')).toMatch(/^application\/problem\+json/);
    const problem = answer.json as {
      status: number;
      code: string;
      error: string;
      detail: string;
      errors: { pointer: string }[];
    };
    expect(problem.status).toBe(400);
    expect(problem.error).toBe(problem.detail);
    expect(problem.errors.map((mistake) => mistake.pointer).sort()).toEqual(pointers);
  });

  test('unknown parameters are ignored', async () => {
    expect(await list('/messages?nonsense=1&limit=1')).toHaveLength(1);
  });
});

describe('GET /conversations', () => {
  test('newest first; reactions count, and one without messages comes last', async () => {
    const found = await list('/conversations');
    expect(found[0]).toEqual({
      id: 'any;+;chat42',
      display_name: 'Garden',
      participants: [ANA, BEN],
      last_message_at: '2026-01-01T11:00:05Z',
    });
    expect(found.at(-1)).toEqual({
      id: `any;-;${BEN}`,
      display_name: null,
      participants: [BEN],
      last_message_at: '2001-01-01T00:00:00Z',
    });
    expect(empty).toBeGreaterThan(0);
  });

  test('an unnamed group has no display name, and no participant twice', async () => {
    expect((await service.get('/conversations/any;+;chat43')).json).toMatchObject({
      display_name: null,
      participants: [ANA, BEN],
    });
  });

  test('limit and offset', async () => {
    const all = ids(await list('/conversations'));
    expect(ids(await list('/conversations?limit=1&offset=1'))).toEqual([all[1]]);
    expect((await service.get('/conversations?limit=0')).status).toBe(400);
  });

  test('one is found by its full guid, URL-encoded or not, and by other spellings', async () => {
    for (const id of [`any;-;${ANA}`, encodeURIComponent(`any;-;${ANA}`), encodeURIComponent(`SMS;-;${ANA}`)]) {
      expect((await service.get(`/conversations/${id}`)).json).toMatchObject({ id: `any;-;${ANA}` });
    }
    expect((await service.get('/conversations/any;-;nobody')).status).toBe(404);
    expect((await service.get('/conversations/any;%2B;chat42')).json).toMatchObject({ display_name: 'Garden' });
  });
});

describe('the key', () => {
  test.each([
    ['missing', ''],
    ['wrong', 'x'],
    ['a prefix of the right one', KEY.slice(0, -1)],
  ])('%s: 401, the same for all', async (_name, key) => {
    const answer = await service.get('/messages', { 'x-api-key': key });
    expect(answer.status).toBe(401);
    expect(answer.json).toMatchObject({ status: 401, code: 'unauthorized' });
  });

  test('is not taken from the query, but on the WebSocket', async () => {
    expect((await service.get(`/messages?api_key=${KEY}`, { 'x-api-key': '' })).status).toBe(401);
    expect((await service.get(`/ws?api_key=${KEY}`, { 'x-api-key': '' })).status).toBe(426);
    expect((await service.get('/ws')).status).toBe(401);
  });

  test('unknown paths ask for it too', async () => {
    expect((await service.get('/nothing', { 'x-api-key': '' })).status).toBe(401);
    expect((await service.get('/nothing')).status).toBe(404);
  });
});
