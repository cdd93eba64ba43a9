import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { eventually, waitFor } from '../support/eventually.ts';
import { limitedKey } from '../support/limited-key.ts';
import { Callback, EventsClient, OTHER_SECRET, SECRET, signatureOf, type Told } from '../support/mcp-events.ts';
import { KEY, Service } from '../support/service.ts';
import { simulatedMac } from '../support/simulated-mac.ts';

const ANA = '+15550100';
const BEN = '+15550101';
const CHAT = `any;-;${ANA}`;
const RECEIVED = 'message.received';

let mac: Awaited<ReturnType<typeof simulatedMac>>;
let service: Service;
let key: Awaited<ReturnType<typeof limitedKey>>;
let client: EventsClient;
const callbacks: Callback[] = [];

beforeAll(async () => {
  mac = await simulatedMac();
  await mac.command({ do: 'receive', from: ANA, text: 'before' });
  service = await Service.here({ chatDbPath: mac.chatDbPath, osascriptPath: mac.osascriptPath });
  key = await limitedKey(service, { scopes: ['events', 'webhooks'], read: [ANA] });
  client = new EventsClient(service, key.key);
});
afterEach(async () => {
  for (const callback of callbacks.splice(0)) await callback.close();
});
afterAll(async () => {
  await service.dispose();
  await mac.dispose();
});

async function callbackOf(...given: Parameters<typeof Callback.start>): Promise<Callback> {
  const callback = await Callback.start(...given);
  callbacks.push(callback);
  return callback;
}

function receive(text: string, from = ANA): Promise<unknown> {
  return mac.command({ do: 'receive', from, text });
}

const delivery = (url: string, secret = SECRET) => ({ mode: 'webhook', url, secret });

describe('the catalogue', () => {
  test('is announced in both places, to a key that may see events', async () => {
    const result = await client.ask('server/discover');
    expect(result.capabilities.events).toEqual({});
    expect(result.capabilities.extensions['io.modelcontextprotocol/events']).toEqual({ listChanged: false });
    const reader = new EventsClient(service, (await limitedKey(service, { scopes: ['read'], read: [ANA] })).key);
    expect((await reader.ask('server/discover')).capabilities.events).toBeUndefined();
    expect((await reader.call('events/list')).error?.code).toBe(-32_601);
  });

  test('offers webhooks only to a key that may have them', async () => {
    const names = [RECEIVED, 'message.sent', 'reaction.added', 'reaction.removed'];
    const { events } = await client.ask('events/list');
    expect(events.map(({ name }: { name: string }) => name)).toEqual(names);
    expect(events[0]).toMatchObject({
      delivery: ['poll', 'push', 'webhook'],
      inputSchema: { type: 'object', additionalProperties: false },
      payloadSchema: { type: 'object', required: ['id', 'conversation_id', 'is_from_me'] },
    });
    const other = new EventsClient(service, (await limitedKey(service, { scopes: ['events'], read: [ANA] })).key);
    expect((await other.ask('events/list')).events[0]?.delivery).toEqual(['poll', 'push']);
    const callback = await callbackOf();
    const refused = await other.call('events/subscribe', { name: RECEIVED, delivery: delivery(callback.url) });
    expect(refused.error).toMatchObject({ code: -32_012, data: { reason: 'scope_missing' } });
    expect(callback.posted).toEqual([]);
  });
});

describe('polling', () => {
  test('begins now, continues after its cursor, and reveals nothing about people who are not listed', async () => {
    const first = await client.ask('events/poll', { name: RECEIVED, cursor: null });
    expect(first).toMatchObject({ events: [], truncated: false, hasMore: false, nextPollMs: 15_000 });
    await receive('A secret of Ben', BEN);
    await receive('one');
    await receive('two');
    const poll = async (cursor: string, more = {}) =>
      await client.ask('events/poll', { name: RECEIVED, cursor, ...more });
    await eventually(async () => expect((await poll(first.cursor)).events).toHaveLength(2));
    const page = await poll(first.cursor, { maxEvents: 1 });
    expect(page).toMatchObject({
      events: [
        {
          eventId: expect.stringMatching(/^evt_[0-9a-f]{32}$/),
          name: RECEIVED,
          timestamp: expect.stringMatching(/Z$/),
          data: { body: 'one', conversation_id: CHAT, sender: ANA, is_from_me: false, attachments: [] },
        },
      ],
      hasMore: true,
    });
    const next = await poll(page.cursor);
    expect(next).toMatchObject({ events: [{ data: { body: 'two' } }], hasMore: false });
    expect(await poll(next.cursor)).toMatchObject({ events: [], hasMore: false });
    const ids = await poll(page.cursor, { arguments: { content: 'ids' } });
    expect(Object.keys(ids.events[0]?.data ?? {}).sort()).toEqual(['conversation_id', 'id', 'is_from_me']);
    expect(ids.events[0]?.eventId).toBe(next.events[0]?.eventId);
    expect((await poll(first.cursor, { arguments: { sender: BEN } })).events).toEqual([]);
  });

  test('a cursor that is beyond the log is answered with a fresh one, and says that events may be missing', async () => {
    const result = await client.ask('events/poll', { name: RECEIVED, cursor: '99999999' });
    expect(result).toMatchObject({ events: [], truncated: true });
    expect((await client.ask('events/poll', { name: RECEIVED, cursor: result.cursor })).truncated).toBe(false);
  });

  test('skips what is older than asked, and says so', async () => {
    await receive('old');
    const answer = await client.ask('events/poll', { name: RECEIVED, cursor: '0', maxAgeMs: 0 });
    expect(answer).toMatchObject({ events: [], truncated: true, hasMore: false });
    const all = await client.ask('events/poll', { name: RECEIVED, cursor: '0', maxAgeMs: 3_600_000 });
    expect(all.truncated).toBe(false);
  });

  test.each([
    [{ name: 'message.exploded' }, -32_011, { kind: 'event' }],
    [{ name: RECEIVED, cursor: 'nonsense!' }, -32_602, { mistakes: [expect.stringContaining('Invalid cursor')] }],
    [
      { name: RECEIVED, arguments: { sender: 7, colour: 'red' }, maxAgeMs: -1 },
      -32_602,
      {
        mistakes: [
          expect.stringContaining('arguments.sender'),
          expect.stringContaining('colour'),
          expect.stringContaining('maxAgeMs'),
        ],
      },
    ],
    [{}, -32_602, { mistakes: [expect.stringContaining('name')] }],
  ])('%j is refused in the protocol, with every mistake', async (params, code, data) => {
    expect((await client.call('events/poll', params)).error).toMatchObject({ code, data });
  });
});

describe('a stream', () => {
  test('confirms, tells events with cursors, and continues after one when it is opened again', async () => {
    const told: Told[] = [];
    const hangUp = new AbortController();
    const reading = (async () => {
      for await (const one of client.stream({ name: RECEIVED, cursor: null }, hangUp.signal)) told.push(one);
    })().catch(() => {});
    await waitFor(() => told.length === 1);
    const id = told[0]?.params?._meta['io.modelcontextprotocol/subscriptionId'];
    expect(id).toEqual(expect.any(Number));
    expect(told[0]).toMatchObject({ method: 'notifications/events/active', params: { truncated: false } });
    await receive('streamed');
    await receive('not for this key', BEN);
    await waitFor(() => told.length === 2);
    expect(told[1]).toMatchObject({
      method: 'notifications/events/event',
      params: { data: { body: 'streamed' }, _meta: { 'io.modelcontextprotocol/subscriptionId': id } },
    });
    hangUp.abort();
    await reading;
    await receive('while away');
    const again = client.stream({ name: RECEIVED, cursor: told[1]?.params?.cursor });
    expect((await again.next()).value).toMatchObject({ method: 'notifications/events/active' });
    expect((await again.next()).value).toMatchObject({ params: { data: { body: 'while away' } } });
    await again.return(undefined);
  });

  test('ends with a word when its key is revoked', async () => {
    const { id, key: secret } = await limitedKey(service, { scopes: ['events'], read: [ANA] });
    const stream = new EventsClient(service, secret).stream({ name: RECEIVED, cursor: null });
    await stream.next();
    await service.request('DELETE', `/keys/${id}`);
    expect((await stream.next()).value).toMatchObject({
      method: 'notifications/events/terminated',
      params: { error: { code: -32_012 } },
    });
    expect((await stream.next()).value).toMatchObject({ result: {} });
    expect((await stream.next()).done).toBe(true);
  });

  test('of an unknown name is an error and no stream', async () => {
    const stream = client.stream({ name: 'nothing' });
    expect((await stream.next()).value).toMatchObject({ error: { code: -32_011 } });
  });

  test('one too many is refused', async () => {
    const { key: secret } = await limitedKey(service, { scopes: ['events'], read: [ANA] });
    const other = new EventsClient(service, secret);
    const open = Array.from({ length: 16 }, () => other.stream({ name: RECEIVED }));
    for (const stream of open) await stream.next();
    expect((await other.stream({ name: RECEIVED }).next()).value).toMatchObject({
      error: { code: -32_013, data: { limit: 'streams' } },
    });
    for (const stream of open) await stream.return(undefined);
    await eventually(async () => {
      const again = other.stream({ name: RECEIVED });
      expect((await again.next()).value).not.toMatchObject({ error: {} });
      await again.return(undefined);
    });
  });
});

describe('a subscription', () => {
  test('challenges, posts signed events in order, and is refreshed, ended, and ended again', async () => {
    const callback = await callbackOf();
    const target = { name: RECEIVED, arguments: { junk: true }, delivery: delivery(callback.url) };
    const granted = await client.ask('events/subscribe', { ...target, ttlMs: 600_000 });
    expect(granted).toMatchObject({ id: expect.stringMatching(/^sub_[0-9a-f]{32}$/), truncated: false });
    expect(granted.deliveryStatus).toBeUndefined();
    const leftMs = Date.parse(granted.refreshBefore) - Date.now();
    expect(leftMs).toBeGreaterThan(500_000);
    expect(leftMs).toBeLessThanOrEqual(600_000);
    await receive('posted 1');
    await receive('not for this key', BEN);
    await receive('posted 2');
    await waitFor(() => callback.events.length === 2);
    expect(callback.events.map(({ data }) => data?.body)).toEqual(['posted 1', 'posted 2']);
    for (const one of callback.receiver.deliveries) {
      expect(one.headers).toMatchObject({ 'x-mcp-subscription-id': granted.id, 'content-type': 'application/json' });
      expect(one.headers['webhook-signature']).toBe(signatureOf(one, SECRET));
      expect(one.headers['x-webhook-event']).toBeUndefined();
    }
    const last = callback.receiver.deliveries.at(-1);
    expect(last?.headers['webhook-id']).toBe(callback.events.at(-1)?.eventId);

    const rotated = { ...target, delivery: delivery(callback.url, OTHER_SECRET), cursor: callback.events[0]?.cursor };
    const refreshed = await client.ask('events/subscribe', rotated);
    expect(refreshed).toMatchObject({
      id: granted.id,
      cursor: callback.events[1]?.cursor,
      truncated: false,
      deliveryStatus: { active: true, lastError: null, lastDeliveryAt: expect.any(String) },
    });
    await receive('posted 3');
    await waitFor(() => callback.events.length === 3);
    const third = callback.receiver.deliveries.at(-1);
    expect(third?.headers['webhook-signature']).toBe(third && signatureOf(third, OTHER_SECRET, SECRET));
    expect(callback.posted.filter(({ type }) => type === 'verification')).toHaveLength(1);

    for (let time = 0; time < 2; time += 1) {
      const { result, error } = await client.call('events/unsubscribe', target);
      expect(error).toBeUndefined();
      expect(result).toMatchObject({});
    }
    await receive('after the end');
    const poll = await client.call('events/poll', { name: RECEIVED, cursor: refreshed.cursor });
    await eventually(async () => expect(poll.status).toBe(200));
    expect(callback.events).toHaveLength(3);
  });

  test('of an address that does not want it is refused, and nothing is posted', async () => {
    const callback = await callbackOf();
    callback.receiver.answerWith((response) => void response.writeHead(200).end('{"challenge":"no"}'));
    const params = { name: RECEIVED, delivery: delivery(callback.url) };
    const subscribe = () => client.call('events/subscribe', params);
    expect((await subscribe()).error).toMatchObject({ code: -32_015, data: { reason: 'challenge_failed' } });
    callback.receiver.answerWith((response) => void response.writeHead(404).end('secret words'));
    const refused = await subscribe();
    expect(refused.error).toMatchObject({ code: -32_015, data: { reason: 'http_4xx' } });
    expect(JSON.stringify(refused)).not.toContain('secret words');
    await callbacks.pop()?.close();
    expect((await subscribe()).error).toMatchObject({ code: -32_015, data: { reason: 'connection_refused' } });
  });

  test.each([
    ['another machine', 'https://hooks.example/x', -32_012, 'webhook_not_allowed'],
    ['http elsewhere', 'http://hooks.example/x', -32_602, undefined],
    ['a name that looks like this machine', 'http://localhost.example/x', -32_602, undefined],
    ['a user name', 'https://user:pass@127.0.0.1/x', -32_012, 'webhook_headers_not_allowed'],
    ['no URL', 'hooks', -32_602, undefined],
  ])('to %s is refused before anything is posted', async (_name, url, code, reason) => {
    const { error } = await client.call('events/subscribe', { name: RECEIVED, delivery: delivery(url) });
    expect(error?.code).toBe(code);
    if (reason !== undefined) expect(error?.data).toMatchObject({ reason });
  });

  test.each([['whsec_'], ['whsec_c2hvcnQ='], ['plain'], [`whsec_${'A'.repeat(120)}`]])(
    'with the secret %s is refused',
    async (secret) => {
      const callback = await callbackOf();
      const params = { name: RECEIVED, delivery: delivery(callback.url, secret) };
      const { error } = await client.call('events/subscribe', params);
      expect(error).toMatchObject({ code: -32_602, data: { mistakes: [expect.stringContaining('delivery.secret')] } });
    },
  );

  test("with the owner's key is refused, and with an unknown mode too", async () => {
    const callback = await callbackOf();
    const params = { name: RECEIVED, delivery: { ...delivery(callback.url), mode: 'push' } };
    expect((await client.call('events/subscribe', params)).error).toMatchObject({
      code: -32_014,
      data: { feature: 'deliveryMode', value: 'push' },
    });
    expect((await new EventsClient(service, KEY).call('events/list')).status).toBe(403);
  });

  test('ends with its key, which the receiver learns once', async () => {
    const callback = await callbackOf();
    const { id, key: secret } = await limitedKey(service, { scopes: ['events', 'webhooks'], read: [ANA] });
    const other = new EventsClient(service, secret);
    expect((await other.call('events/subscribe', { name: RECEIVED, delivery: delivery(callback.url) })).error).toBe(
      undefined,
    );
    await service.request('DELETE', `/keys/${id}`);
    await waitFor(() => callback.posted.length === 2);
    expect(callback.posted[1]).toMatchObject({ type: 'terminated', error: { code: -32_012 } });
    expect(callback.receiver.deliveries[1]?.headers['webhook-id']).toMatch(/^msg_terminated_/);
  });

  test('is in the audit log, and at most 16 of a key', async () => {
    const callback = await callbackOf();
    const { id, key: secret } = await limitedKey(service, { scopes: ['events', 'webhooks'], read: [ANA] });
    const other = new EventsClient(service, secret);
    const subscribe = (sender: string) =>
      other.call('events/subscribe', { name: RECEIVED, arguments: { sender }, delivery: delivery(callback.url) });
    for (let at = 0; at < 16; at += 1) expect((await subscribe(`+1555020${at}`)).error).toBeUndefined();
    expect((await subscribe('+15550299')).error).toMatchObject({ code: -32_013, data: { limit: 'subscriptions' } });
    expect(callback.posted).toHaveLength(1);
    const audit = (await service.get(`/audit?key=${id}`)).json as readonly { action: string; outcome: string }[];
    expect(audit.filter(({ action, outcome }) => action === 'webhook' && outcome === 'registered')).toHaveLength(16);
  });
});
