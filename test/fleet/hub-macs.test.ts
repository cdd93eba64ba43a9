import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { jetstreamManager } from '@nats-io/jetstream';
import { Kvm } from '@nats-io/kv';
import type { Conversation, Message } from '../../src/client/postern-client.ts';
import { Envelope } from '../../src/features/fleet/protocol/envelope.ts';
import { EVENTS } from '../../src/features/fleet/protocol/layout.ts';
import { packPresence } from '../../src/features/fleet/protocol/presence.ts';
import { appleDate } from '../../src/features/simulator/chat-database.ts';
import { eventually, waitFor } from '../support/eventually.ts';
import { clientOf, FleetMac, streamOf } from '../support/fleet-mac.ts';
import { HubFixture } from '../support/hub-fixture.ts';
import { describeWithNats, NatsServer } from '../support/nats-server.ts';
import { postern } from '../support/postern.ts';
import { KEY } from '../support/service.ts';
import { simulatedMac } from '../support/simulated-mac.ts';
import { ABSENT, temporaryFolder } from '../support/temporary.ts';

interface Problem {
  readonly code: string;
  readonly detail: string;
  readonly candidates?: readonly string[];
}

const folder = temporaryFolder();

describeWithNats('the Macs behind a hub', () => {
  let server: NatsServer;
  let hub: HubFixture;
  let m1: FleetMac;
  let m2: FleetMac;
  let sim: Awaited<ReturnType<typeof simulatedMac>>;
  let m3: FleetMac;

  beforeAll(async () => {
    server = await NatsServer.forFleet(['m1', 'm2', 'm3']);
    const settings = { servers: [server.url] };
    sim = await simulatedMac();
    m1 = new FleetMac(join(folder, 'm1'), { ...settings, mac: 'm1' });
    m2 = new FleetMac(join(folder, 'm2'), { ...settings, mac: 'm2' });
    m3 = new FleetMac(join(folder, 'm3'), { ...settings, mac: 'm3' }, sim);
    // Writes messages of both Macs in turn, a second apart, and three of each in one second.
    for (let n = 0; n < 12; n += 1) {
      const mac = n % 2 === 0 ? m1 : m2;
      mac.database?.message({ chat: 1, handle_id: 1, text: `n${n}`, date: appleDate(Date.UTC(2026, 0, 1, 0, 0, n)) });
    }
    for (const mac of [m1, m2]) {
      for (let n = 0; n < 3; n += 1) {
        mac.database?.message({ chat: 1, handle_id: 1, text: `same${n}`, date: appleDate(Date.UTC(2026, 0, 2)) });
      }
    }
    for (const mac of [m1, m2, m3]) await mac.start();
    hub = await HubFixture.start([server.url]);
    await present(3);
  });
  afterAll(async () => {
    await hub.dispose();
    for (const mac of [m1, m2, m3]) await mac.dispose();
    await sim.dispose();
    await server.dispose();
  });

  /** Waits until the hub sees this many Macs. */
  const present = (count: number) =>
    waitFor(async () => {
      const { macs = [] } = await hub.client.status();
      return macs.filter(({ state }) => state === 'present').length === count;
    });
  const bodies = (messages: readonly Message[]) => messages.map(({ mac, body }) => `${mac} ${body}`);
  const getJson = async <Value>(path: string) => (await (await hub.get(path)).json()) as Value;
  const send = (body: object, key?: string) =>
    fetch(`${hub.api}/messages`, {
      method: 'POST',
      headers: { 'X-API-Key': KEY, 'Content-Type': 'application/json', ...(key && { 'Idempotency-Key': key }) },
      body: JSON.stringify(body),
    });

  describe('are read', () => {
    test('one by one, by their qualified ids', async () => {
      const { client } = hub;
      const [message] = await client.messages({ conversation_id: 'm1~iMessage;-;+15550100', limit: 1 });
      expect(message).toMatchObject({ mac: 'm1', conversation_id: 'm1~any;-;+15550100', body: 'same2' });
      expect(await client.message(message?.id ?? '')).toEqual(message);
      const detailed = await client.message(message?.id ?? '', { include: 'details' });
      expect(detailed.details).toMatchObject({ kind: 'message' });
      expect(await client.conversation('m2~any;-;+15550100')).toMatchObject({ id: 'm2~any;-;+15550100' });
      expect(await client.messages({ conversation_id: 'any;-;+15550100' })).toEqual([]);
      for (const id of ['1', 'm9~1', 'm1~999', 'm1~x', 'M1~1']) {
        expect([id, (await hub.get(`/messages/${encodeURIComponent(id)}`)).status]).toEqual([id, 404]);
      }
    });

    test.each(['desc', 'asc'] as const)('as one list, page by page without gap or repeat (%s)', async (order) => {
      const expected = Array.from({ length: 12 }, (_, n) => `${n % 2 === 0 ? 'm1' : 'm2'} n${n}`);
      const same = ['m1', 'm2'].flatMap((mac) => [0, 1, 2].map((n) => `${mac} same${n}`));
      const newestSame = ['m1', 'm2'].flatMap((mac) => [2, 1, 0].map((n) => `${mac} same${n}`));
      const all = order === 'asc' ? [...expected, ...same] : [...newestSame, ...expected.toReversed()];
      for (const limit of [1, 2, 5, 50]) {
        const found: Message[] = [];
        for await (const message of hub.client.allMessages({ order, limit })) found.push(message);
        expect(bodies(found)).toEqual(all);
      }
      expect(bodies(await hub.client.messages({ order, limit: 3, offset: 4 }))).toEqual(all.slice(4, 7));
      const since = '2026-01-01T00:00:09Z';
      expect(bodies(await hub.client.messages({ order, since }))).toEqual(
        all.filter((text) => text.includes('same') || ['m1 n10', 'm2 n11'].includes(text)),
      );
      const conversations = await hub.client.conversations();
      expect(conversations.map(({ id }) => id)).toEqual(['m1~any;-;+15550100', 'm2~any;-;+15550100']);
      expect(await hub.client.conversations({ limit: 1, offset: 1 })).toEqual(conversations.slice(1));
    });

    test('and a request that several Macs cannot answer is refused', async () => {
      const deep = await hub.get('/messages?offset=1001');
      expect([deep.status, ((await deep.json()) as Problem).detail]).toEqual([
        400,
        'Across several Macs `offset` must be at most 1000.',
      ]);
      expect((await hub.get('/messages?cursor=bm9uZQ')).status).toBe(400);
      const ofOneMac = ['/search?q=x', '/keys', '/contacts', '/people', '/people/x/messages', '/audit', '/keys/me'];
      const places = ['/conversations?cursor=', '/conversations/m1~any;-;+15550100/attachments'];
      for (const path of ['/messages?include=contacts', ...places, ...ofOneMac]) {
        const answer = await hub.get(path);
        expect([path, answer.status, ((await answer.json()) as Problem).code]).toEqual([path, 501, 'not_at_a_hub']);
      }
    });

    test('with their attachments, ranges and ETag', async () => {
      const path = join(dirname(m1.chatDbPath), 'Attachments/photo.bin');
      mkdirSync(dirname(path), { recursive: true });
      const content = Buffer.from(Array.from({ length: 300_000 }, (_, n) => n % 251));
      writeFileSync(path, content);
      const row = m1.write('with a file');
      m1.database?.attach(row, path, { mime_type: 'image/png' });
      const url = `/messages/m1~${row}/attachments/0`;
      const whole = await hub.get(url);
      expect(whole.status).toBe(200);
      expect(Buffer.from(await whole.arrayBuffer()).equals(content)).toBe(true);
      const part = await hub.get(url, { Range: 'bytes=131000-131099' });
      expect([part.status, part.headers.get('content-range')]).toEqual([206, 'bytes 131000-131099/300000']);
      expect(Buffer.from(await part.arrayBuffer())).toEqual(content.subarray(131_000, 131_100));
      const known = await hub.get(url, { 'If-None-Match': whole.headers.get('etag') ?? '' });
      expect(known.status).toBe(304);
      expect((await hub.get(`/messages/m1~${row}/attachments/1`)).status).toBe(404);
    });

    test('with the sentence for a row without text, in its details and as the last message', async () => {
      const columns = { item_type: 3, group_action_type: 0, date: appleDate(Date.now()) };
      const row = m1.database?.message({ chat: 1, handle_id: 1, ...columns });
      const sentence = '+15550100 left the conversation.';
      const { client } = hub;
      expect(await client.message(`m1~${row}`, { include: 'details' })).toMatchObject({
        details: { sentence, group_event: { type: 'left' } },
      });
      expect(await client.conversation('m1~any;-;+15550100', { include: 'details' })).toMatchObject({
        details: { last_message: { id: `m1~${row}`, sentence } },
      });
    });
  });

  describe('send', () => {
    test('by the Mac that is named by its id, its address or a qualified conversation', async () => {
      const sent = await send({ recipient: '+15550199', body: 'by name', from: 'm3' });
      const message = (await sent.json()) as Message;
      expect([sent.status, message.mac, message.body]).toEqual([201, 'm3', 'by name']);
      expect(sent.headers.get('location')).toBe(`messages/${message.id}`);
      expect(message.id).toMatch(/^m3~\d+$/);
      expect(await hub.client.message(message.id)).toMatchObject({ body: 'by name', mac: 'm3' });
      // Decision S4 holds for the Mac. The hub has the event as soon as the stream delivers it.
      await eventually(async () => {
        const events = await getJson<{ data: Message }[]>('/events?after=0&limit=1000');
        expect(events.map(({ data }) => data.id)).toContain(message.id);
      });
      const { conversation_id: recipient } = message;
      expect(((await (await send({ recipient, body: 'again' })).json()) as Message).mac).toBe('m3');
      // Now exactly one Mac has a conversation with that address.
      expect(((await (await send({ recipient: '+15550199', body: 'third' })).json()) as Message).mac).toBe('m3');
      const trial = await send({ recipient, body: 'no', dry_run: true });
      expect([trial.status, await trial.json()]).toEqual([
        200,
        { would: 'send', to: recipient, members: ['+15550199'], text: 'no' },
      ]);
    });

    test('only by a Mac that is certain: an ambiguous send is refused, and a wrong one is explained', async () => {
      const unclear = await send({ recipient: '+15550100', body: 'x' });
      expect([unclear.status, await unclear.json()]).toEqual([
        422,
        expect.objectContaining({ code: 'from_required', candidates: ['m1', 'm2'] }),
      ]);
      const nobody = (await (await send({ recipient: '+15550777', body: 'x' })).json()) as Problem;
      expect([nobody.code, nobody.candidates]).toEqual(['from_required', ['m1', 'm2', 'm3']]);
      const unknown = (await (await send({ recipient: '+15550777', body: 'x', from: 'm77' })).json()) as Problem;
      expect(unknown.code).toBe('mac_unknown');
      const other = await send({ recipient: 'm1~any;-;+15550100', body: 'x', from: 'm2' });
      expect([other.status, ((await other.json()) as Problem).code]).toEqual([400, 'invalid_request']);
      const upload = await send({ recipient: '+15550777', from: 'm3', body: 'x', attachment_ids: ['a'] });
      expect(upload.status).toBe(501);
      const missing = await send({ recipient: '+15550777', from: 'm3', body: '', attachments: [ABSENT] });
      expect([missing.status, await missing.json()]).toEqual([
        400,
        expect.objectContaining({ errors: [expect.objectContaining({ pointer: '/attachments/0' })] }),
      ]);
    });

    test('from the command line, which names the Macs to choose from', async () => {
      const keyFile = join(folder, 'key');
      writeFileSync(keyFile, KEY);
      const run = (...args: readonly string[]) => postern(['send', ...args, '--url', hub.url, '--key-file', keyFile]);
      const unclear = await run('+15550100', 'x');
      expect(unclear.exitCode).toBe(65);
      expect(unclear.stderr.split('\n')).toEqual([
        'It is not clear which Mac should send this: 2 Macs have a conversation with the recipient.',
        'Nothing was sent. Give --from with one of these Macs: m1, m2',
        '',
      ]);
      const sent = await run('+15550188', 'by its id', '--from', 'm3');
      expect([sent.exitCode, sent.stdout]).toEqual([
        0,
        expect.stringMatching(/^Sent to \+15550188 as message m3~\d+ /),
      ]);
    });

    test('once for a key, whichever hub the client repeats it at', async () => {
      const other = await HubFixture.start([server.url]);
      try {
        await waitFor(async () => ((await other.client.status()).macs ?? []).length === 3);
        const request = { recipient: '+15550144', from: 'm3', body: 'only once' };
        const [here, there] = await Promise.all([
          send(request, 'k1'),
          fetch(`${other.api}/messages`, {
            method: 'POST',
            headers: { 'X-API-Key': KEY, 'Content-Type': 'application/json', 'Idempotency-Key': 'k1' },
            body: JSON.stringify(request),
          }),
        ]);
        const statuses = [here.status, there.status].sort();
        // One of the sends may have found the other still running.
        expect([
          [201, 201],
          [201, 409],
        ]).toContainEqual(statuses);
        const repeated = await send(request, 'k1');
        expect([repeated.status, repeated.headers.get('idempotent-replayed')]).toEqual([201, 'true']);
        const changed = await send({ ...request, from: 'm1' }, 'k1');
        expect([changed.status, ((await changed.json()) as Problem).code]).toEqual([422, 'idempotency_key_reused']);
        const all = await getJson<Message[]>('/messages?conversation_id=m3~any;-;%2B15550144');
        expect(all.map(({ body }) => body)).toEqual(['only once']);
      } finally {
        await other.dispose();
      }
    });
  });

  test('are listed with their presence, in status and metrics', async () => {
    const { macs = [], newest_event: newest, backend } = await hub.client.status();
    expect(backend).toEqual({ connected: true, message: null });
    expect(newest.offset).toMatch(/^[\w-]{40,}$/);
    expect(macs.map(({ id, state, version }) => [id, state, version])).toEqual(
      ['m1', 'm2', 'm3'].map((id) => [id, 'present', '1.2.3']),
    );
    await eventually(async () => {
      const metrics = await (await fetch(`${hub.url}/metrics`, { headers: { 'X-API-Key': KEY } })).text();
      expect(metrics).toMatch(/^postern_mac_up\{mac="m2"\} 1$/m);
      expect(metrics).toMatch(/^postern_mac_behind_rows\{mac="m3"\} 0$/m);
    });
  });

  test('supply rows that the stream lacks, in their order', async () => {
    const nc = await clientOf(server);
    await m1.published(m1.write('before the hole'));
    const has = (text: string) =>
      waitFor(async () => {
        const events = await getJson<{ data: Message }[]>('/events?after=0&limit=1000');
        const own = events.map(({ data }) => data).filter(({ mac }) => mac === 'm1');
        return own.at(-1)?.body === text && own.map(({ body }) => body);
      });
    await has('before the hole');
    await hub.close();
    for (const text of ['lost one', 'lost two', 'behind the hole']) await m1.published(m1.write(text));
    const jsm = await jetstreamManager(nc);
    for (const { sequence } of (await streamOf(nc, 'm1')).slice(-3, -1)) {
      await jsm.streams.deleteMessage(EVENTS.stream, sequence);
    }
    await nc.close();
    await hub.start();
    const bodies = await has('behind the hole');
    expect(bodies.slice(-4)).toEqual(['before the hole', 'lost one', 'lost two', 'behind the hole']);
    const metrics = await (await fetch(`${hub.url}/metrics`, { headers: { 'X-API-Key': KEY } })).text();
    expect(metrics).toMatch(/^postern_fleet_filled_total 2$/m);
    expect(metrics).toMatch(/^postern_fleet_missing_total 0$/m);
    await present(3);
  });

  test('are named in lists while they are away, and requests to them fail at once; the others answer', async () => {
    await m2.stop();
    await present(2);
    const list = await hub.get('/messages?limit=200');
    expect([list.status, list.headers.get('postern-partial')]).toEqual([200, 'm2']);
    expect(((await list.json()) as Message[]).some(({ mac }) => mac === 'm2')).toBe(false);
    expect((await hub.get('/conversations')).headers.get('postern-partial')).toBe('m2');
    const one = await hub.get('/conversations/m2~any;-;%2B15550100');
    expect([one.status, ((await one.json()) as Problem).code]).toEqual([503, 'mac_away']);
    const sent = await send({ recipient: 'm2~any;-;+15550100', body: 'x' });
    expect([sent.status, ((await sent.json()) as Problem).code]).toEqual([503, 'mac_away']);
    // The other Mac may have a conversation with that address too.
    const unclear = (await (await send({ recipient: '+15550199', body: 'x' })).json()) as Problem;
    expect([unclear.code, unclear.detail]).toEqual(['from_required', expect.stringContaining('m2 cannot be asked')]);
    expect((await hub.client.health()).backend.message).toBe('1 of 3 Macs is away.');
    await m2.start();
    await present(3);
  });

  test('are away too after they died without a notice', async () => {
    const nc = await clientOf(server);
    const presence = { version: '0', instance: 'i', epoch: 'e', newestRow: 0, publishedRow: 0, addresses: [], atMs: 0 };
    const dead = { ...presence, health: { connected: true, message: null }, isLeaving: false };
    nc.publish('$KV.macs.m4', packPresence(new Envelope(), 'm4', dead));
    await present(4);
    const sent = await send({ recipient: '+15550199', from: 'm4', body: 'x' });
    expect([sent.status, ((await sent.json()) as Problem).code]).toEqual([503, 'mac_away']);
    await (await new Kvm(nc).open('macs')).delete('m4');
    await present(3);
    await nc.close();
  });

  test('cannot be asked while the broker is away, and nothing is sent', async () => {
    await server.stop();
    await waitFor(async () => !(await hub.client.health()).backend.connected);
    for (const path of ['/messages', '/conversations', '/messages/m1~1']) {
      const answer = await hub.get(path);
      expect([path, answer.status, ((await answer.json()) as Problem).code]).toEqual([path, 503, 'broker_away']);
    }
    const sent = await send({ recipient: '+15550199', from: 'm3', body: 'x' });
    expect([sent.status, ((await sent.json()) as Problem).code]).toEqual([503, 'broker_away']);
    // Events that the hub has copied stay readable.
    expect((await getJson<Conversation[]>('/events?after=0&limit=1')).length).toBe(1);
    await server.launch();
    await hub.connected();
    await eventually(async () => expect((await hub.get('/messages/m1~1')).status).toBe(200));
  });
});
