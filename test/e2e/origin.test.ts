import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { MessageDetails } from '../../src/core/model/details.ts';
import type { Message } from '../../src/core/model/message.ts';
import { openSqlite } from '../../src/core/runtime/sqlite.ts';
import { OWN_ADDRESS } from '../../src/features/simulator/chat-database.ts';
import { eventually, waitFor } from '../support/eventually.ts';
import { Receiver } from '../support/receiver.ts';
import { type Listener, Service } from '../support/service.ts';
import { simulatedMac } from '../support/simulated-mac.ts';

const ANA = '+15550100';
let mac: Awaited<ReturnType<typeof simulatedMac>>;
let service: Service;
let listener: Listener;
let receiver: Receiver;

beforeAll(async () => {
  mac = await simulatedMac();
  await mac.command({ do: 'write', to: ANA, text: 'before Postern was there' });
  service = await Service.here({ chatDbPath: mac.chatDbPath, osascriptPath: mac.osascriptPath });
  await eventually(() => expect(service.output).toContain('events begin after the newest row'));
  listener = await service.socket('&include=details');
  receiver = await Receiver.start();
  const webhook = { url: receiver.url, events: ['message.sent', 'message.received'], include: ['details'] };
  expect((await service.post('/webhooks', webhook)).status).toBe(201);
});
afterAll(async () => {
  await listener.close();
  await service.dispose();
  await receiver.close();
  await mac.dispose();
});

const detailed = async (id: string): Promise<MessageDetails | undefined> =>
  ((await service.get(`/messages/${id}?include=details`)).json as Message).details;

/** Returns one row as the WebSocket, the webhook, the list, the page of events and the single message show it. */
async function everywhere(id: string): Promise<readonly (MessageDetails | undefined)[]> {
  const ofWebhook = (): Message | undefined =>
    receiver.deliveries.map(({ event }) => event.data as unknown as Message).find((data) => data.id === id);
  const live = await listener.event(({ data }) => data.id === id);
  await waitFor(() => ofWebhook() !== undefined);
  const list = (await service.get('/messages?include=details')).json as Message[];
  const events = (await service.get(`/events?after=${Number(id) - 1}&include=details`)).json as { data: Message }[];
  return [
    (live.data as unknown as Message).details,
    ofWebhook()?.details,
    list.find((message) => message.id === id)?.details,
    events[0]?.data.details,
    await detailed(id),
  ];
}

const request = { 'x-request-id': 'request-1', 'idempotency-key': 'key-1' };

describe('a bot that reads its own messages', () => {
  test('learns which ones it sent, wherever there are details', async () => {
    const sent = await service.post('/messages', { recipient: ANA, body: 'from the bot' }, request);
    expect(sent.status).toBe(201);
    const origin = { by: 'gateway', request_id: 'request-1', idempotency_key: 'key-1' };
    for (const details of await everywhere((sent.json as Message).id)) expect(details).toMatchObject({ origin });
  });

  test('learns which messages the person wrote on another device', async () => {
    const { row } = await mac.command<{ row: number }>({ do: 'write', to: ANA, text: 'from the telephone' });
    for (const details of await everywhere(String(row))) expect(details).toMatchObject({ origin: { by: 'elsewhere' } });
  });

  test('learns nothing about earlier rows, nor about incoming ones', async () => {
    const { row } = await mac.command<{ row: number }>({ do: 'receive', from: ANA, text: 'hello' });
    for (const id of ['1', String(row)]) expect(await detailed(id)).not.toHaveProperty('origin');
  });

  test('recognises the copy of a message to oneself', async () => {
    const sent = await service.post('/messages', { recipient: OWN_ADDRESS, body: 'note to myself' });
    const own = sent.json as Message;
    expect(await detailed(own.id)).toMatchObject({ origin: { by: 'gateway' } });
    expect(await detailed(own.id)).not.toHaveProperty('mirror');
    const copy = await listener.event(({ data }) => 'body' in data && data.body === own.body && !data.is_from_me);
    expect((copy.data as unknown as Message).details).toMatchObject({ mirror: true });
  });
});

describe('a message that a limited key sent', () => {
  test('names the key to the owner everywhere, and to the key never', async () => {
    const asked = { name: 'agent', scopes: ['read', 'send', 'events'], read: [ANA], send: [ANA], approval: 'never' };
    const { id: keyId, key } = (await service.post('/keys', asked)).json as {
      readonly id: string;
      readonly key: string;
    };
    const own = { 'x-api-key': key };
    const choice = { recipient: ANA, body: 'from the agent', service: 'imessage' };
    const sent = (await service.post('/messages', choice, { ...own, ...request, 'idempotency-key': 'key-3' }))
      .json as Message;
    expect(sent.details?.origin).toEqual({ by: 'gateway', request_id: 'request-1' });
    for (const details of await everywhere(sent.id)) expect(details?.origin).toMatchObject({ key_id: keyId });
    const seen = await Promise.all(
      [`/messages/${sent.id}?include=details`, '/messages?include=details&limit=1'].map((path) =>
        service.get(path, own),
      ),
    );
    const after = `/events?after=${Number(sent.id) - 1}&include=details`;
    for (const { text } of [...seen, await service.get(after, own)]) {
      expect(text).toContain('request-1');
      expect(text).not.toContain(keyId);
    }
  });
});

describe('equal sends of which the first never got a row', () => {
  const body = 'the same text four times';
  const send = (key: string): ReturnType<Service['post']> =>
    service.post('/messages', { recipient: ANA, body }, { 'idempotency-key': key, 'x-request-id': `request-${key}` });

  test('each have the row that their own run wrote, and only the first stays unknown, after a restart too', async () => {
    await service.becomeProcess();
    await mac.command({ do: 'scenario', name: 'nothing' });
    expect((await send('k1')).status).toBe(202);
    const ids = new Map<string, string>();
    const others = ['k2', 'k3', 'k4'];
    for (const key of others) {
      const answer = await send(key);
      expect(answer.status).toBe(201);
      ids.set(key, (answer.json as Message).id);
    }
    expect([...ids.values()].toSorted((a, b) => Number(a) - Number(b))).toEqual([...ids.values()]);
    for (const isRestarted of [false, true]) {
      if (isRestarted) {
        await service.kill();
        await service.launch();
      }
      const first = await send('k1');
      expect([first.status, (first.json as Message).id]).toEqual([202, '']);
      for (const key of others) {
        const again = await send(key);
        expect([again.status, again.headers.get('idempotent-replayed')]).toEqual([201, 'true']);
        expect((again.json as Message).id).toBe(ids.get(key));
        const origin = { by: 'gateway', request_id: `request-${key}`, idempotency_key: key };
        expect(await detailed((again.json as Message).id)).toMatchObject({ origin });
      }
    }
  });
});

/** Counts own rows with this text. */
function rowsWith(text: string): number {
  const database = openSqlite(mac.chatDbPath, { readonly: true });
  try {
    return Number(
      database.prepare('SELECT count(*) FROM message WHERE is_from_me = 1 AND instr(attributedBody, ?)').get(text)?.[0],
    );
  } finally {
    database.close();
  }
}

describe('after kill -9', () => {
  test('between the send and its pairing, the row is still known as sent here', async () => {
    await service.becomeProcess();
    const body = 'killed before it was paired';
    const sending = service
      .post('/messages', { recipient: ANA, body }, { ...request, 'idempotency-key': 'key-2' })
      .catch(() => undefined);
    await waitFor(() => rowsWith(body) === 1);
    await service.kill();
    await sending;
    const { row } = await mac.command<{ row: number }>({ do: 'write', to: ANA, text: 'while it was down' });
    await service.launch();
    await eventually(async () => {
      const messages = (await service.get('/messages?include=details')).json as Message[];
      const origins = messages.filter((message) => message.body === body).map(({ details }) => details?.origin);
      expect(origins).toEqual([{ by: 'gateway', request_id: 'request-1', idempotency_key: 'key-2' }]);
    });
    expect(await detailed(String(row))).toMatchObject({ origin: { by: 'elsewhere' } });
  });
});
