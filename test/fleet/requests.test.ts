import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { jetstream } from '@nats-io/jetstream';
import { Kvm } from '@nats-io/kv';
import { type NatsConnection, headers as newHeaders } from '@nats-io/nats-core';
import { systemClock } from '../../src/core/runtime/clock.ts';
import { FleetConnection } from '../../src/features/fleet/protocol/connection.ts';
import { Envelope } from '../../src/features/fleet/protocol/envelope.ts';
import {
  CHUNK_BYTES,
  type FleetAnswer,
  type FleetOperation,
  type FleetRequest,
} from '../../src/features/fleet/protocol/fleet-reads-schema.ts';
import type { SendOrder, SendOutcome } from '../../src/features/fleet/protocol/fleet-records-schema.ts';
import {
  BUCKETS,
  HEADERS,
  outcomeKey,
  outcomeSubject,
  readSubject,
  SENDS,
  sendConsumer,
  sendSubject,
} from '../../src/features/fleet/protocol/layout.ts';
import { ask } from '../../src/features/fleet/protocol/requests.ts';
import { encodeOrder, hashOfRequest, keyHash, unpackOutcome } from '../../src/features/fleet/protocol/sends.ts';
import { eventually } from '../support/eventually.ts';
import { clientOf, FleetMac, streamOf } from '../support/fleet-mac.ts';
import { collectingLog } from '../support/log.ts';
import { describeWithNats, NatsServer } from '../support/nats-server.ts';
import { simulatedMac } from '../support/simulated-mac.ts';
import { ABSENT, temporaryFolder } from '../support/temporary.ts';

const folder = temporaryFolder();
const plain = new Envelope();

describeWithNats('hubs ask and send', () => {
  let server: NatsServer;
  let simulated: Awaited<ReturnType<typeof simulatedMac>>;
  let mac: FleetMac;
  let hub: FleetConnection;
  let nc: NatsConnection;

  beforeAll(async () => {
    [server, simulated] = await Promise.all([NatsServer.forFleet(['m1']), simulatedMac()]);
    mac = new FleetMac(join(folder, 'm1'), { servers: [server.url], mac: 'm1' }, simulated);
    await mac.start();
    await mac.fleet(({ state }) => state === 'connected');
    nc = await clientOf(server);
    hub = new FleetConnection(
      { servers: [server.url], keyFile: '', caFile: '' },
      { clock: systemClock, log: collectingLog(), name: 'hub-1' },
    );
    await new Promise<void>((resolve) => void hub.onConnect(resolve));
  });
  afterAll(async () => {
    await hub.close();
    await nc.close();
    await mac.dispose();
    await simulated.dispose();
    await server.dispose();
  });

  const question = async <Name extends FleetOperation>(operation: Name, request: FleetRequest<Name>) =>
    (await ask(hub, plain, systemClock, { mac: 'm1', operation, request, timeoutMs: 10_000 })) as FleetAnswer<Name>;

  /** Queues a send. Resolves with the agent's answer. */
  async function order(key: string, request: object, more: Partial<SendOrder> = {}): Promise<SendOutcome> {
    const waiting = nc.subscribe(outcomeSubject('m1', keyHash(key)), { max: 1 });
    await nc.flush();
    await queue(key, request, more);
    for await (const message of waiting) return unpackOutcome(plain, 'm1', key, message.data);
    throw new Error('no outcome');
  }
  async function queue(key: string, request: object, more: Partial<SendOrder> = {}): Promise<void> {
    const all = { key, deadlineMs: Date.now() + 60_000, request, ...more };
    const { headers, body } = encodeOrder('m1', all, `${key}-${Math.random()}`, plain);
    await jetstream(nc).publish(sendSubject('m1'), body, { headers });
  }
  const stored = async (key: string) => (await new Kvm(nc).open(BUCKETS.outcomes)).get(outcomeKey('m1', keyHash(key)));
  const sentTexts = () => simulated.calls.map(({ values }) => values.BODY);

  test('each question is answered as the local API answers it', async () => {
    for (const body of ['a', 'b', 'c', 'd', 'e']) await order(`seed-${body}`, { recipient: '+15550100', body });
    // Their statuses may still change, so the two answers are compared once they are final.
    await eventually(async () => {
      const sent = (await mac.get('/messages?limit=5')) as readonly { readonly status: string }[];
      expect(sent.map(({ status }) => status)).toEqual(Array(5).fill('read'));
    });
    const list = { order: 'desc', limit: 2, offset: 0 } as const;
    const [page, chats] = [
      await question('listMessages', list),
      await question('listConversations', { limit: 50, offset: 0 }),
    ];
    expect(page.items).toEqual(await mac.get('/messages?limit=2'));
    const next = await question('listMessages', { ...list, cursor: page.next });
    expect(next.items).toEqual(await mac.get('/messages?limit=2&offset=2'));
    expect(chats.items).toEqual(await mac.get('/conversations'));
    const [id, chat] = [page.items[0]?.id ?? '', chats.items[0]?.id ?? ''];
    expect(await question('message', { id, include: ['details'] })).toEqual(
      await mac.get(`/messages/${id}?include=details`),
    );
    expect(await question('message', { id: '999999' })).toBeNull();
    expect(await question('conversation', { id: chat })).toMatchObject({ id: chat });
    expect(await question('attachmentMistakes', { paths: [`${ABSENT}/x`] })).toMatchObject([
      { pointer: '/attachments/0' },
    ]);
    await expect(question('listMessages', { ...list, cursor: 'nonsense' })).rejects.toMatchObject({
      code: 'invalid_cursor',
      status: 400,
    });
  });

  test('an attachment arrives in the chunks that the hub requests', async () => {
    const bytes = Buffer.alloc(CHUNK_BYTES + 5, 'film');
    mkdirSync(join(simulated.homeFolder, 'Pictures'), { recursive: true });
    const path = join(simulated.homeFolder, 'Pictures/film.bin');
    writeFileSync(path, bytes);
    const outcome = await order('with-file', { recipient: '+15550100', body: '', attachments: [path] });
    const { message } = (outcome.reply as { result: { message: { id: string } } }).result;
    const file = { id: message.id, n: 0 };
    const head = await question('attachment', { ...file, at: 0, bytes: 0 });
    expect(head).toMatchObject({ name: 'film.bin', bytes: bytes.length, data: '' });
    const chunks = [];
    for (const at of [0, CHUNK_BYTES]) {
      const chunk = await question('attachment', { ...file, at, bytes: CHUNK_BYTES });
      expect(chunk?.version).toBe(head?.version);
      chunks.push(Buffer.from(chunk?.data ?? '', 'base64'));
    }
    expect(Buffer.concat(chunks).equals(bytes)).toBe(true);
    expect(await question('attachment', { ...file, n: 7, at: 0, bytes: 1 })).toBeNull();
  });

  test('a send is confirmed and becomes an event, and the same key is sent once', async () => {
    const request = { recipient: '+15550100', body: 'through the hub' };
    const first = await order('key-1', request);
    expect(first).toMatchObject({
      requestHash: hashOfRequest(request),
      reply: { result: { confirmed: true, replayed: false, message: { body: 'through the hub' } } },
    });
    expect(await order('key-1', request)).toMatchObject({ reply: { result: { confirmed: true, replayed: true } } });
    expect(await order('key-1', { ...request, body: 'another' })).toMatchObject({
      reply: { problem: { code: 'idempotency_key_reused', status: 422 } },
    });
    expect(sentTexts().filter((text) => text === 'through the hub')).toHaveLength(1);
    expect(sentTexts()).not.toContain('another');
    const kept = unpackOutcome(plain, 'm1', 'key-1', (await stored('key-1'))?.value ?? new Uint8Array());
    expect(kept).toMatchObject({ requestHash: hashOfRequest(request), reply: { result: { confirmed: true } } });
    await eventually(async () =>
      expect((await streamOf(nc, 'm1')).map(({ data }) => data.body)).toContain('through the hub'),
    );
  });

  test('a refused send says why, and may be sent with the same key later', async () => {
    const late = { recipient: '+15550100', body: 'too late' };
    expect(await order('key-2', late, { deadlineMs: Date.now() - 1 })).toMatchObject({
      reply: { problem: { code: 'send_expired', status: 503 } },
    });
    expect(await stored('key-2')).toBeNull();
    expect(sentTexts()).not.toContain('too late');
    expect(await order('key-2', late)).toMatchObject({ reply: { result: { confirmed: true } } });
    for (const request of [{ body: 'no recipient' }, [], null, 'text', { ...late, dry_run: true }]) {
      expect(await order('key-3', request as object)).toMatchObject({
        reply: { problem: { code: 'invalid_request' } },
      });
    }
  });

  test('an agent answers only known questions, and nonsense does not stop it', async () => {
    const sent = simulated.calls.length;
    await expect(nc.request('rd.m1.send', '{}', { timeout: 1000 })).rejects.toThrow();
    for (const body of [
      new Uint8Array(),
      new Uint8Array([0xff]),
      '[',
      'null',
      '7',
      '{"id":7}',
      '{"id":"'.padEnd(900_000, 'x'),
    ]) {
      const { data } = await nc.request(readSubject('m1', 'message'), body, { timeout: 5000 });
      expect(JSON.parse(new TextDecoder().decode(data))).toMatchObject({ problem: { code: 'invalid_request' } });
    }
    for (const request of [{ limit: 1e9 }, { limit: '5' }, { sinceNs: 'x' }, { include: 'details' }, { cursor: [1] }]) {
      const whole = { order: 'desc', limit: 1, offset: 0, ...request } as unknown as FleetRequest<'listMessages'>;
      await expect(question('listMessages', whole)).rejects.toMatchObject({ code: 'invalid_request' });
    }
    // Encrypted, although the fleet is plain.
    const headers = newHeaders();
    headers.set(HEADERS.key, 'abcdefgh');
    const refused = await nc.request(readSubject('m1', 'message'), '{"id":"1"}', { timeout: 5000, headers });
    expect(new TextDecoder().decode(refused.data)).toContain('fleet_content_unreadable');
    for (const body of [
      new Uint8Array(),
      new Uint8Array([9, 1]),
      '\0{}',
      '\0{"key":""}',
      '\0null',
      '\xff'.repeat(1000),
    ]) {
      await jetstream(nc).publish(sendSubject('m1'), body);
    }
    const consumer = await jetstream(nc).consumers.get(SENDS.stream, sendConsumer('m1'));
    await eventually(async () => expect(await consumer.info()).toMatchObject({ num_pending: 0, num_ack_pending: 0 }));
    expect(simulated.calls.length).toBe(sent);
    expect(await order('key-4', { recipient: '+15550100', body: 'still here' })).toMatchObject({
      reply: { result: { confirmed: true } },
    });
  });

  test('the log contains neither texts of messages nor keys', () => {
    const text = JSON.stringify(mac.log.lines);
    for (const secret of ['through the hub', 'too late', 'key-1']) expect(text).not.toContain(secret);
  });
});
