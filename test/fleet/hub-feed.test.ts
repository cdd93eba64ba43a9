import { once } from 'node:events';
import { cpSync, rmSync } from 'node:fs';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { jetstreamManager } from '@nats-io/jetstream';
import { nanos } from '@nats-io/nats-core';
import { connect } from '@nats-io/transport-node';
import WebSocket from 'ws';
import { EVENTS } from '../../src/features/fleet/protocol/subjects.ts';
import { appleDate } from '../../src/features/simulator/chat-database.ts';
import { eventually, waitFor } from '../support/eventually.ts';
import { Fleet, HUB_KEY, type Hub, type HubEvent, type Mac } from '../support/fleet-fixture.ts';
import { describeWithNats, NatsServer } from '../support/nats-server.ts';
import { type Running, startPostern } from '../support/postern.ts';
import { Receiver } from '../support/receiver.ts';
import { temporaryFolder } from '../support/temporary.ts';

/** A client that reads page after page, changes hubs, and follows `resume`. */
class Poller {
  readonly texts: unknown[] = [];
  expired = 0;
  offset = '0';

  async read(hub: Hub): Promise<void> {
    try {
      const { events, next } = await hub.events(`after=${this.offset}&limit=3`);
      this.texts.push(...events.map(({ data }) => data.body));
      this.offset = next;
    } catch (error) {
      const { status, body } = error as { status?: number; body?: { resume?: string } };
      if (status === 503) return;
      if (status !== 410) throw error;
      this.expired += 1;
      this.offset = body?.resume ?? '0';
    }
  }
}

describeWithNats('the events of a fleet at its hubs', () => {
  let server: NatsServer;
  let fleet: Fleet;
  const folder = temporaryFolder();

  beforeEach(async () => {
    server = await NatsServer.forFleet();
    fleet = new Fleet(server);
  });
  afterEach(async () => {
    await fleet.stop();
    await server.dispose();
  });

  function write(mac: Mac, ...texts: readonly string[]): void {
    for (const text of texts) mac.write(text, `G-${text}`);
  }
  const names = (from: number, to: number): string[] =>
    Array.from({ length: to - from + 1 }, (_, index) => `t${String(from + index)}`);

  /** Lets a client read at both hubs in turn until it has every one of these texts. */
  async function readAll(poller: Poller, hubs: readonly Hub[], wanted: readonly string[]): Promise<void> {
    let turn = 0;
    await eventually(async () => {
      turn += 1;
      const hub = hubs[turn % hubs.length];
      if (hub !== undefined) await poller.read(hub);
      expect(new Set(poller.texts)).toEqual(new Set(wanted));
    });
  }

  test('have the same offset at every hub: changing hubs loses and repeats nothing', async () => {
    const hubs = [await fleet.hub(), await fleet.hub()];
    const mac = await fleet.mac('m1');
    write(mac, ...names(1, 20));
    const poller = new Poller();
    await readAll(poller, hubs, names(1, 20));
    expect([poller.texts, poller.expired]).toEqual([names(1, 20), 0]);
    const [one, other] = await Promise.all(hubs.map(async (hub) => (await hub.events('after=0&limit=100')).events));
    expect(one?.map(({ offset }) => offset)).toEqual(other?.map(({ offset }) => offset));
  });

  test('are read by consumers that the broker forgets soon, and at once when a hub ends', async () => {
    const [hub, mac] = [await fleet.hub(), await fleet.mac('m1')];
    write(mac, 'one');
    await hub.texts(1);
    const nc = await connect({ servers: server.url });
    const manager = await jetstreamManager(nc);
    const consumers = () => manager.consumers.list(EVENTS).next();
    for (const { config } of await consumers()) expect(config.inactive_threshold).toBeLessThanOrEqual(nanos(30_000));
    await hub.stop();
    await eventually(async () => expect(await consumers()).toEqual([]));
    await nc.close();
  });

  test('have no offset that another hub refuses while there are none', async () => {
    const hubs = [await fleet.hub(), await fleet.hub()];
    const poller = new Poller();
    for (const hub of [...hubs, ...hubs]) await poller.read(hub);
    expect([poller.texts, poller.expired]).toEqual([[], 0]);
  });

  test('of one Mac come alone with mac=, in pages whose links keep it', async () => {
    const hub = await fleet.hub();
    const [m1, m2] = [await fleet.mac('m1'), await fleet.mac('m2')];
    write(m1, 'a1', 'a2');
    write(m2, 'b1');
    await hub.texts(3);
    expect(await hub.texts(2, 'after=0&mac=m1')).toEqual(['a1', 'a2']);
    const answer = await hub.get('/api/v1/events?after=0&mac=m2&limit=1');
    expect(await answer.json()).toMatchObject([{ data: { body: 'b1', mac: 'm2' } }]);
    expect(answer.headers.get('link')).toMatch(/^<\?mac=m2&/);
    await expect(hub.events('after=0&mac=m9')).rejects.toMatchObject({ status: 404, body: { code: 'mac_unknown' } });
    const twice = { status: 400, body: { errors: [{ pointer: '?mac' }] } };
    await expect(hub.events('after=0&mac=m1&mac=m2')).rejects.toMatchObject(twice);
  });

  test('reach a waiting request, a stream and a WebSocket as they happen', async () => {
    const hub = await fleet.hub();
    const mac = await fleet.mac('m1');
    write(mac, 'past');
    await hub.texts(1);
    const { next } = await hub.events('after=0&limit=10');
    const waiting = hub.events(`after=${next}&wait=20`);
    const stream = await hub.get(`/api/v1/events?after=0`, { accept: 'application/x-ndjson' });
    const live = hub.client.listen({ after: next });
    write(mac, 'now');
    expect((await waiting).events.map(({ data }) => data.body)).toEqual(['now']);
    const first = await live[Symbol.asyncIterator]().next();
    expect(first.value).toMatchObject({ data: { body: 'now', mac: 'm1' } });
    const read: string[] = [];
    const decoder = new TextDecoder();
    let text = '';
    for await (const chunk of stream.body ?? []) {
      text += decoder.decode(chunk as Uint8Array, { stream: true });
      const lines = text.split('\n').slice(0, -1);
      if (lines.length < 2) continue;
      read.push(...lines.map((line) => String((JSON.parse(line) as HubEvent).data.body)));
      break;
    }
    expect(read).toEqual(['past', 'now']);
  });

  test('a stream that was deleted gives 410 with resume, and after it nothing is missing', async () => {
    const hubs = [await fleet.hub(), await fleet.hub()];
    const mac = await fleet.mac('m1');
    write(mac, ...names(1, 5));
    const poller = new Poller();
    await readAll(poller, hubs, names(1, 5));
    await server.deleteStream();
    await server.createFleet();
    write(mac, ...names(6, 9));
    await readAll(poller, hubs, names(1, 9));
    expect(poller.expired).toBeGreaterThan(0);
  });

  test('a stream that was deleted ends the streams of clients without an offset, and the hub continues', async () => {
    const [hub, mac] = [await fleet.hub(), await fleet.mac('m1')];
    write(mac, 'one');
    await hub.texts(1);
    const stream = await hub.get('/api/v1/events', { accept: 'application/x-ndjson' });
    const socket = new WebSocket(`${hub.url.replace('http', 'ws')}/api/v1/ws?api_key=${HUB_KEY}`);
    const closed = once(socket, 'close');
    await once(socket, 'open');
    await server.deleteStream();
    await server.createFleet();
    write(mac, 'two');
    await Promise.all([stream.text(), closed]);
    expect(new Set(await hub.texts(2))).toEqual(new Set(['one', 'two']));
  });

  test('a store that was restored from an old copy loses nothing of what came after the copy', async () => {
    const hubs = [await fleet.hub(), await fleet.hub()];
    const [m1, m2] = [await fleet.mac('m1'), await fleet.mac('m2')];
    write(m1, ...names(1, 5));
    const poller = new Poller();
    await readAll(poller, hubs, names(1, 5));
    await server.stop();
    cpSync(server.storeFolder, folder, { recursive: true });
    await server.launch();
    write(m1, ...names(6, 15));
    await readAll(poller, hubs, names(1, 15));
    await server.stop();
    rmSync(server.storeFolder, { recursive: true });
    cpSync(folder, server.storeFolder, { recursive: true });
    // Other events take the places that the client has read.
    write(m2, ...names(16, 40));
    await server.launch();
    await readAll(poller, hubs, names(1, 40));
    expect(poller.expired).toBeGreaterThan(0);
  });

  test('junk and rows that came late at their Mac are left out for those who ask, as on the Mac', async () => {
    const hub = await fleet.hub();
    const mac = await fleet.mac('m1');
    const receiver = await Receiver.start();
    const webhook = { url: receiver.url, events: ['message.received'], filter: { junk: false } };
    expect((await hub.post('/api/v1/webhooks', webhook)).status).toBe(201);
    const spam = mac.database.chat('any;-;+15550109', ['+15550109'], { is_filtered: 2 });
    const date = appleDate(Date.now());
    mac.database.message({ chat: spam, handle_id: mac.database.handle('+15550109'), text: 'shoes', date, guid: 'G-1' });
    mac.database.message({ chat: 1, handle_id: 1, text: 'old', date: appleDate(Date.now() - 7_200_000), guid: 'G-2' });
    mac.write('tea', 'G-3');
    expect(await hub.texts(3)).toEqual(['shoes', 'old', 'tea']);
    expect(await hub.texts(2, 'after=0&junk=false')).toEqual(['old', 'tea']);
    expect(await hub.texts(2, 'after=0&max_age_s=1800')).toEqual(['shoes', 'tea']);
    await eventually(() => expect(receiver.deliveries.map(({ event }) => event.data.body)).toEqual(['old', 'tea']));
    await receiver.close();
  });

  test('postern tail shows the events of all Macs, and leaves out junk if asked to', async () => {
    const hub = await fleet.hub();
    const macs = [await fleet.mac('m1'), await fleet.mac('m2')];
    for (const [at, mac] of macs.entries()) {
      const spam = mac.database.chat('any;-;+15550109', ['+15550109'], { is_filtered: 2 });
      const handle_id = mac.database.handle('+15550109');
      mac.database.message({ chat: spam, handle_id, text: `spam ${at}`, date: appleDate(Date.now()), guid: `S-${at}` });
      mac.write(`text ${at}`, `G-${at}`);
    }
    await hub.texts(4);
    const tail = (...more: readonly string[]) =>
      startPostern(['tail', '--url', hub.url, '--json', '--after', '0', ...more], {
        env: { POSTERN_API_KEY: HUB_KEY },
      });
    const [plain, whole] = [tail('--no-junk'), tail()];
    const texts = ({ stdout }: Running) => stdout.match(/(?:text|spam) \d/g)?.toSorted();
    await eventually(() =>
      expect([texts(whole), whole.stderr]).toEqual([['spam 0', 'spam 1', 'text 0', 'text 1'], '']),
    );
    await eventually(() => expect(texts(plain)).toEqual(['text 0', 'text 1']));
    macs[1]?.write('text 2', 'G-2');
    await eventually(() => expect(texts(plain)).toEqual(['text 0', 'text 1', 'text 2']));
    expect([plain.stderr, whole.stderr]).toEqual(['', '']);
    for (const { child } of [plain, whole]) child.kill();
    await Promise.all([plain.ended, whole.ended]);
  });

  test('offsets of a Mac and includes are refused with what to do', async () => {
    const hub = await fleet.hub();
    await expect(hub.events('after=17')).rejects.toMatchObject({ status: 400 });
    await expect(hub.events('after=0&include=details')).rejects.toMatchObject({ status: 400 });
  });

  test('while the broker is away, events are 503, and ready says so', async () => {
    const hub = await fleet.hub();
    await server.stop();
    await waitFor(async () => (await hub.get('/ready')).status === 503);
    await expect(hub.events('after=0')).rejects.toMatchObject({ status: 503, body: { code: 'broker_away' } });
    await server.launch();
    await waitFor(async () => (await hub.get('/ready')).status === 200);
  });
});
