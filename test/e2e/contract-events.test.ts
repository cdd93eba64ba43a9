import { createHmac } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { appleNs, ChatFixture } from '../support/chat-fixture.ts';
import { eventually, waitFor } from '../support/eventually.ts';
import { type Delivery, Receiver } from '../support/receiver.ts';
import { Service } from '../support/service.ts';

const home = mkdtempSync(join(tmpdir(), 'postern-contract-'));
const database = new ChatFixture(join(home, 'Library/Messages/chat.db'));
const ANA = '+15550100';
const chat = database.chat(`any;-;${ANA}`, [ANA]);
const from = { handle_id: database.handle(ANA) };
const history = database.message({ chat, text: 'before the first start', ...from });
let service: Service;

beforeAll(async () => {
  service = await Service.here({ chatDbPath: database.path });
});
afterAll(async () => {
  await service.dispose();
  database.close();
  rmSync(home, { recursive: true, force: true });
});

async function register(receiver: Receiver, events: readonly string[], secret?: string): Promise<string> {
  const answer = await service.post('/webhooks', {
    url: receiver.url,
    events,
    ...(secret === undefined ? {} : { secret }),
  });
  expect(answer.status).toBe(201);
  return (answer.json as { id: string }).id;
}

const arrived = (receiver: Receiver, row: number): Promise<Delivery> =>
  waitFor(() => receiver.deliveries.find((delivery) => delivery.event.data.id === String(row)));

describe('events', () => {
  test('an incoming row is message.received, an own one message.sent, with the Message as data', async () => {
    const listener = await service.socket();
    const incoming = database.message({ chat, text: 'in', ...from });
    const own = database.message({ chat, text: 'out', is_from_me: 1, is_delivered: 0 });
    const received = await listener.event((event) => event.data.id === String(incoming));
    const sent = await listener.event((event) => event.data.id === String(own));
    expect(received).toEqual({ type: 'message.received', data: (await service.get(`/messages/${incoming}`)).json });
    expect(sent).toEqual({ type: 'message.sent', data: (await service.get(`/messages/${own}`)).json });
    expect(listener.events.map((event) => event.data.id)).not.toContain(String(history));
    await listener.close();
  });

  test.each([
    [2000, 'reaction.added', 'love'],
    [2001, 'reaction.added', 'thumbs_up'],
    [2002, 'reaction.added', 'thumbs_down'],
    [2003, 'reaction.added', 'haha'],
    [2004, 'reaction.added', 'exclamation'],
    [2005, 'reaction.added', 'question'],
    [3000, 'reaction.removed', 'love'],
    [3001, 'reaction.removed', 'thumbs_up'],
    [3002, 'reaction.removed', 'thumbs_down'],
    [3003, 'reaction.removed', 'haha'],
    [3004, 'reaction.removed', 'exclamation'],
    [3005, 'reaction.removed', 'question'],
    [2006, 'reaction.added', 'emoji'],
    [3006, 'reaction.removed', 'emoji'],
    [2007, 'reaction.added', 'sticker'],
    [1000, 'reaction.added', 'sticker'],
    [4000, 'reaction.added', 'other'],
    [2, 'reaction.added', 'other'],
  ])('a row of type %i is %s (%s), instead of a message', async (type, event, name) => {
    const listener = await service.socket();
    const row = database.message({
      chat,
      text: 'Reacted',
      ...from,
      associated_message_type: type,
      associated_message_guid: `p:1/${database.guid(history)}`,
      associated_message_emoji: type % 1000 === 6 ? '🦜' : null,
    });
    const found = await listener.event(({ data }) => data.id === String(row));
    expect(found).toEqual({
      type: event,
      data: {
        id: String(row),
        guid: database.guid(row),
        conversation_id: `any;-;${ANA}`,
        sender: ANA,
        is_from_me: false,
        reaction_type: name,
        emoji: type % 1000 === 6 ? '🦜' : null,
        message_id: String(history),
        message_guid: database.guid(history),
        timestamp: '2026-01-01T00:00:00Z',
        associated_message_type: type,
        part: 1,
      },
    });
    await listener.close();
  });

  test('a reaction to a message that is gone names its guid and no id', async () => {
    const listener = await service.socket();
    const row = database.message({
      chat,
      text: '',
      ...from,
      associated_message_type: 2000,
      associated_message_guid: 'bp:GONE',
    });
    const found = await listener.event(({ data }) => data.id === String(row));
    expect(found.data).toMatchObject({ message_id: '', message_guid: 'GONE', balloon: true });
    await listener.close();
  });

  test('a burst arrives whole and in row id order', async () => {
    const listener = await service.socket();
    const rows: string[] = [];
    database.sqlite.exec('BEGIN');
    for (let count = 0; count < 3000; count += 1) {
      const row = database.insert('message', {
        guid: `BURST-${count}`,
        service: 'iMessage',
        text: `n ${count}`,
        date: appleNs('2020-01-01'),
      });
      database.insert('chat_message_join', { chat_id: chat, message_id: row, message_date: appleNs('2020-01-01') });
      rows.push(String(row));
    }
    database.sqlite.exec('COMMIT');
    await eventually(() => expect(listener.frames.length).toBeGreaterThanOrEqual(3000));
    expect(listener.events.map((event) => event.data.id)).toEqual(rows);
    await listener.close();
  });

  test('many clients each hear every event, of every type', async () => {
    const listeners = await Promise.all(Array.from({ length: 5 }, () => service.socket()));
    const row = database.message({ chat, text: 'to all', ...from });
    for (const listener of listeners) await listener.event(({ data }) => data.id === String(row));
    await Promise.all(listeners.map((listener) => listener.close()));
  });
});

describe('webhooks', () => {
  test('the Webhook is shown without its secret, and listed', async () => {
    const receiver = await Receiver.start();
    const answer = await service.post('/webhooks', {
      url: receiver.url,
      events: ['message.sent', 'message.received', 'message.sent'],
      secret: 'shh',
    });
    expect(answer.status).toBe(201);
    const webhook = answer.json as { id: string; created_at: string };
    expect(answer.headers.get('location')).toBe(`webhooks/${webhook.id}`);
    expect(webhook).toEqual({
      id: expect.any(String),
      url: receiver.url,
      events: ['message.sent', 'message.received'],
      created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/),
    });
    expect((await service.get('/webhooks')).json).toContainEqual(webhook);
    const removed = await service.request('DELETE', `/webhooks/${webhook.id}`);
    expect([removed.status, removed.text]).toEqual([204, '']);
    expect((await service.request('DELETE', `/webhooks/${webhook.id}`)).status).toBe(404);
    await receiver.close();
  });

  test('each event goes to those who asked for its type, as JSON, signed when there is a secret', async () => {
    const signed = await Receiver.start();
    const plain = await Receiver.start();
    const ids = [await register(signed, ['message.received'], 'sécret'), await register(plain, ['reaction.added'])];
    const row = database.message({ chat, text: 'Grüße 👋\n"x"', ...from });
    const reaction = database.message({
      chat,
      text: '',
      ...from,
      associated_message_type: 2001,
      associated_message_guid: database.guid(row),
    });
    const delivery = await arrived(signed, row);
    expect(delivery.headers['content-type']).toMatch(/^application\/json/);
    expect(delivery.headers['x-webhook-signature']).toBe(
      `sha256=${createHmac('sha256', 'sécret').update(delivery.body).digest('hex')}`,
    );
    expect(delivery.event).toEqual({ type: 'message.received', data: (await service.get(`/messages/${row}`)).json });
    const other = await arrived(plain, reaction);
    expect(other.headers['x-webhook-signature']).toBeUndefined();
    expect(plain.deliveries).toHaveLength(1);
    expect(signed.deliveries.map((one) => one.event.type)).not.toContain('reaction.added');
    for (const id of ids) expect((await service.request('DELETE', `/webhooks/${id}`)).status).toBe(204);
    await Promise.all([signed.close(), plain.close()]);
  });

  test('a failed delivery is tried again under the same id, with the same bytes', async () => {
    const receiver = await Receiver.start((response) => void response.writeHead(500).end());
    const id = await register(receiver, ['message.received'], 's');
    const row = database.message({ chat, text: 'try me', ...from });
    await arrived(receiver, row);
    receiver.answerWith((response) => void response.writeHead(200).end('ok'));
    const tries = await waitFor(() => (receiver.deliveries.length >= 2 ? receiver.deliveries : undefined));
    expect(tries.map((one) => one.headers['x-webhook-attempt'])).toEqual(['1', '2']);
    expect(new Set(tries.map((one) => one.headers['x-webhook-delivery'])).size).toBe(1);
    expect(new Set(tries.map((one) => one.body.toString())).size).toBe(1);
    await service.request('DELETE', `/webhooks/${id}`);
    await receiver.close();
  });

  test.each([
    [{}, ['/events', '/url']],
    [{ url: 'ftp://example.net', events: ['message.received'] }, ['/url']],
    [{ url: 'nonsense', events: [] }, ['/events', '/url']],
    [{ url: 'http://x', events: ['message.received', 'message.eaten', 7] }, ['/events/1', '/events/2']],
    [{ url: 'http://x', events: ['message.received'], secret: '' }, ['/secret']],
    [{ url: 'http://x', events: 'message.received', secret: 5 }, ['/events', '/secret']],
    [{ url: `http://x/${'y'.repeat(2048)}`, events: ['message.sent'], secret: 'z'.repeat(257) }, ['/secret', '/url']],
  ])('%j is 400 and every mistake is named', async (body, pointers) => {
    const before = (await service.get('/webhooks')).text;
    const answer = await service.post('/webhooks', body);
    expect(answer.status).toBe(400);
    const problem = answer.json as { errors: { pointer: string }[] };
    expect(problem.errors.map((mistake) => mistake.pointer).sort()).toEqual(pointers);
    expect((await service.get('/webhooks')).text).toBe(before);
  });
});

describe('the WebSocket', () => {
  const refusal = async (query: string): Promise<number> =>
    new Promise((resolve, reject) => {
      void import('ws').then(({ default: WebSocket }) => {
        const socket = new WebSocket(`ws://127.0.0.1:${service.port}/api/v1/ws${query}`);
        socket.on('unexpected-response', (request, response) => {
          resolve(response.statusCode ?? 0);
          request.destroy();
        });
        socket.on('open', () => reject(new Error('it was let in')));
        socket.on('error', () => undefined);
      });
    });

  test('a missing or wrong key is refused with 401 before the upgrade', async () => {
    expect(await refusal('')).toBe(401);
    expect(await refusal('?api_key=wrong')).toBe(401);
  });

  test('a client that says where it was continues without gap', async () => {
    const first = database.message({ chat, text: 'one', ...from });
    const second = database.message({ chat, text: 'two', ...from });
    await waitFor(async () => ((await service.get(`/messages/${second}`)).status === 200 ? true : undefined));
    const listener = await service.socket(`&after=${first - 1}`);
    const third = database.message({ chat, text: 'three', ...from });
    await listener.event(({ data }) => data.id === String(third));
    expect(listener.events.map((event) => event.data.id)).toEqual([first, second, third].map(String));
    await listener.close();
    expect(await refusal(`?api_key=a-key-for-all-the-tests&after=-1`)).toBe(400);
    expect(await refusal(`?api_key=a-key-for-all-the-tests&after=x`)).toBe(400);
    expect(await refusal(`?api_key=a-key-for-all-the-tests&after=${third + 100}`)).toBe(410);
  });

  test('what clients send is ignored; over 4 KiB closes 1009', async () => {
    const listener = await service.socket();
    listener.socket.send('hello');
    listener.socket.send(Buffer.from([1, 2, 3]));
    const row = database.message({ chat, text: 'still here', ...from });
    await listener.event(({ data }) => data.id === String(row));
    const closed = new Promise<number>((resolve) => listener.socket.on('close', resolve));
    listener.socket.send('x'.repeat(4097));
    expect(await closed).toBe(1009);
  });
});

describe('restart and shutdown', () => {
  test('resumes after the stored row id, sockets close with 1001, exit code 0', async () => {
    const receiver = await Receiver.start();
    await register(receiver, ['message.received']);
    const listener = await service.socket();
    const before = database.message({ chat, text: 'before', ...from });
    await arrived(receiver, before);
    const closed = new Promise<number>((resolve) => listener.socket.on('close', resolve));
    expect(await service.stop()).toBe(0);
    expect(await closed).toBe(1001);
    const meanwhile = database.message({ chat, text: 'while it was down', ...from });
    await service.launch();
    await arrived(receiver, meanwhile);
    expect(receiver.deliveries.map((delivery) => delivery.event.data.id)).toEqual([before, meanwhile].map(String));
    await receiver.close();
  });
});
