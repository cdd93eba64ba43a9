import { copyFileSync, cpSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { jetstream, jetstreamManager } from '@nats-io/jetstream';
import { type NatsConnection, nanos } from '@nats-io/nats-core';
import { HOUR_MS } from '../../src/core/model/durations.ts';
import { systemClock } from '../../src/core/runtime/clock.ts';
import {
  agentKeys,
  Envelope,
  hubKeys,
  macKeyLine,
  newFleetKeyLine,
} from '../../src/features/fleet/protocol/envelope.ts';
import { encodeEvent, eventId } from '../../src/features/fleet/protocol/event-message.ts';
import { BUCKETS, EVENTS, eventSubject, readSubject, WHO } from '../../src/features/fleet/protocol/layout.ts';
import { unpackPresence } from '../../src/features/fleet/protocol/presence.ts';
import { appleDate } from '../../src/features/simulator/chat-database.ts';
import { ChatFixture } from '../support/chat-fixture.ts';
import { eventually, waitFor } from '../support/eventually.ts';
import { clientOf, FleetMac, rowsOf, streamOf } from '../support/fleet-mac.ts';
import { describeWithNats, NatsServer } from '../support/nats-server.ts';
import { temporaryFolder } from '../support/temporary.ts';

const folder = temporaryFolder();

describeWithNats('the agent of a fleet', () => {
  let server: NatsServer;
  let nc: NatsConnection;
  let macs: FleetMac[] = [];
  let made = 0;
  let id = '';

  /** Starts a Mac with its own id on the same stream. */
  function newMac(settings: Record<string, unknown> = {}): FleetMac {
    const mac = new FleetMac(join(folder, `${id}-${macs.length}`), { servers: [server.url], mac: id, ...settings });
    macs.push(mac);
    return mac;
  }
  /** Writes messages with dates this many hours ago. Returns the row id of the last one. */
  function writeAt(mac: FleetMac, ...hoursAgo: readonly number[]): number {
    const rows = hoursAgo.map((hours) =>
      mac.database?.message({ chat: 1, handle_id: 1, text: 'x', date: appleDate(Date.now() - hours * HOUR_MS) }),
    );
    return rows.at(-1) ?? 0;
  }
  const stream = (envelope?: Envelope) => streamOf(nc, id, envelope);

  beforeAll(async () => {
    server = await NatsServer.forFleet(Array.from({ length: 30 }, (_, number) => `m${number}`));
    nc = await clientOf(server);
  });
  afterAll(async () => {
    await nc.close();
    await server.dispose();
  });
  beforeEach(() => {
    made += 1;
    id = `m${made}`;
  });
  afterEach(async () => {
    for (const mac of macs) await mac.dispose();
    macs = [];
  });

  test('publishes recent history to a new fleet, then everything in order, as the local API shows it', async () => {
    const mac = newMac();
    mac.database?.message({ chat: 1, handle_id: 1, text: 'long ago' });
    const first = mac.write('yesterday');
    await mac.start();
    await mac.published(first);
    for (const text of ['one', 'two', 'three']) mac.write(text);
    await mac.published(first + 3);
    const events = await stream();
    expect(rowsOf(events)).toEqual([first, first + 1, first + 2, first + 3]);
    expect(events.map(({ previousRow }) => previousRow)).toEqual([0, first, first + 1, first + 2]);
    expect(new Set(events.map(({ epoch }) => epoch)).size).toBe(1);
    expect(events.map(({ data }) => data)).toEqual(
      ((await mac.get(`/events?after=${first - 1}`)) as { data: unknown }[]).map(({ data }) => data),
    );
    expect(await mac.fleet()).toMatchObject({ mac: id, state: 'connected', behind: 0, problem: null });
  });

  test('continues after its last event in the stream, even after a restart with an old or no state.db', async () => {
    const mac = newMac();
    await mac.start();
    await mac.published(mac.write('one'));
    await mac.stop();
    const stateDb = join(mac.folder, 'config/state.db');
    copyFileSync(stateDb, `${stateDb}.old`);
    await mac.start();
    await mac.published(mac.write('two'));
    await mac.stop();
    const missed = mac.write('three');
    copyFileSync(`${stateDb}.old`, stateDb);
    await mac.start();
    await mac.published(missed);
    await mac.stop();
    rmSync(stateDb);
    await mac.start();
    await mac.published(mac.write('four'));
    const events = await stream();
    expect(rowsOf(events)).toEqual([1, 2, 3, 4]);
    expect(new Set(events.map(({ epoch }) => epoch)).size).toBe(1);
  });

  test('publishes the lost end of a stream again, with the same ids', async () => {
    const mac = newMac();
    const other = await NatsServer.forFleet([id]);
    mac.settings = { ...mac.settings, servers: [other.url] };
    await mac.start();
    await mac.published(mac.write('one'));
    await other.stop('SIGTERM');
    cpSync(other.storeFolder, `${other.storeFolder}-old`, { recursive: true });
    await other.launch();
    await mac.published(mac.write('two'));
    const client = await clientOf(other);
    const before = await streamOf(client, id);
    await other.stop();
    rmSync(other.storeFolder, { recursive: true });
    cpSync(`${other.storeFolder}-old`, other.storeFolder, { recursive: true });
    await other.launch();
    const three = mac.write('three');
    const again = await clientOf(other);
    const after = await waitFor(async () => {
      const events = await streamOf(again, id);
      return events.at(-1)?.row === three && events;
    });
    expect(rowsOf(after)).toEqual([1, 2, 3]);
    expect(after.slice(0, 2).map((event) => event.id)).toEqual(before.map((event) => event.id));
    await mac.stop();
    await Promise.all([client.close(), again.close()]);
    await other.dispose();
  });

  test('refills a recreated stream, and the local service works while the broker is away', async () => {
    const other = await NatsServer.forFleet([id]);
    const mac = newMac({ servers: [other.url] });
    await mac.start();
    await mac.published(mac.write('one'));
    await mac.published(mac.write('two'));
    await other.deleteStore();
    await mac.fleet(({ state }) => state === 'away');
    const three = mac.write('three');
    await eventually(async () => expect(await mac.get(`/events?after=${three - 1}`)).toHaveLength(1));
    expect(await mac.get('/health')).toMatchObject({ status: 'ok', backend: { connected: true, message: null } });
    await other.launch();
    await other.createFleet([id]);
    const client = await clientOf(other);
    await eventually(async () => expect(rowsOf(await streamOf(client, id))).toEqual([1, 2, 3]));
    await mac.stop();
    await client.close();
    await other.dispose();
  });

  test('refills a stream that was recreated while it was away as far back as the other Macs did', async () => {
    const other = await NatsServer.forFleet([id]);
    const client = await clientOf(other);
    const mac = newMac({ servers: [other.url] });
    const newest = writeAt(mac, 25, 20, 0);
    await mac.start();
    await mac.published(newest);
    await mac.stop();
    await other.deleteStore();
    await other.launch();
    await other.createFleet([id]);
    mac.clock = { ...systemClock, now: () => Date.now() + 10 * HOUR_MS };
    await mac.start();
    await eventually(async () => expect(rowsOf(await streamOf(client, id))).toEqual([newest - 1, newest]));
    await mac.stop();
    await client.close();
    await other.dispose();
  });

  test('sends a new fleet its recent messages too if one that arrived after them is older', async () => {
    const other = await NatsServer.forFleet([id]);
    const client = await clientOf(other);
    const mac = newMac({ servers: [other.url] });
    const newest = writeAt(mac, -1e6, 30, 1, 20);
    await mac.start();
    await eventually(async () => expect(rowsOf(await streamOf(client, id))).toEqual([newest - 1, newest]));
    await mac.stop();
    await client.close();
    await other.dispose();
  });

  test('sends a fleet that it joins late no more than its recent history', async () => {
    const other = await NatsServer.forFleet([id]);
    const client = await clientOf(other);
    const mac = newMac();
    // By its clock, both streams are 30 days old.
    mac.clock = { ...systemClock, now: () => Date.now() + 720 * HOUR_MS };
    const newest = writeAt(mac, -1, -700, -719);
    await mac.start();
    await mac.published(newest);
    await mac.stop();
    mac.settings = { ...mac.settings, servers: [other.url] };
    await mac.start();
    await mac.published(mac.write('now'));
    expect(rowsOf(await streamOf(client, id))).toEqual([newest - 1, newest, newest + 1]);
    await mac.stop();
    await client.close();
    await other.dispose();
  });

  test('starts another epoch for a replaced chat.db, and publishes none of its old rows', async () => {
    const mac = newMac();
    await mac.start();
    for (const text of ['one', 'two', 'three']) mac.write(text);
    await mac.published(3);
    await mac.stop();
    mac.createDatabase();
    mac.write('old, of another database');
    await mac.start();
    await mac.fleet(({ published_row: row }) => row === 1);
    const next = mac.write('new');
    await mac.published(next);
    const events = await stream();
    expect(rowsOf(events)).toEqual([1, 2, 3, next]);
    expect(events.at(-1)?.data.body).toBe('new');
    expect(events.at(-1)?.previousRow).toBe(0);
    expect(new Set(events.map(({ epoch }) => epoch)).size).toBe(2);
  });

  test('uses no row id twice in an epoch after the whole Mac was restored from a backup', async () => {
    const mac = newMac();
    await mac.start();
    await mac.published(mac.write('one'));
    await mac.stop();
    mac.database?.close();
    cpSync(mac.folder, `${mac.folder}-backup`, { recursive: true });
    mac.database = new ChatFixture(mac.chatDbPath, 'macos-26', { isThere: true });
    await mac.start();
    await mac.published(mac.write('lost with the disk'));
    await mac.stop();
    mac.database.close();
    rmSync(mac.folder, { recursive: true });
    cpSync(`${mac.folder}-backup`, mac.folder, { recursive: true });
    mac.database = new ChatFixture(mac.chatDbPath, 'macos-26', { isThere: true });
    const again = mac.write('after the disk was restored');
    await mac.start();
    await mac.published(again);
    const events = await stream();
    expect(rowsOf(events)).toEqual([1, 2, 2]);
    expect(events.map(({ data }) => data.body)).toEqual(['one', 'lost with the disk', 'after the disk was restored']);
    expect(new Set(events.map(({ epoch }) => epoch)).size).toBe(2);
  });

  test('publishes nothing if another agent has the same id, and says so', async () => {
    const [first, second] = [newMac(), newMac()];
    await first.start();
    await first.fleet(({ state }) => state === 'connected');
    await first.published(first.write('mine'));
    await second.start();
    second.write('not mine');
    expect(await second.fleet(({ state }) => state === 'refused')).toMatchObject({
      problem: expect.stringContaining(`Another Mac is in the fleet as ${id}`),
    });
    const health = { backend: { connected: true, message: expect.stringContaining('Set fleet.mac to another id') } };
    expect(await second.get('/health')).toMatchObject(health);
    await first.published(first.write('mine again'));
    expect((await stream()).map(({ data }) => data.body)).toEqual(['mine', 'mine again']);
  });

  test('publishes nothing if another agent answers only the second question, as after a pause of the broker', async () => {
    let questions = 0;
    const other = nc.subscribe(readSubject(id, WHO), {
      callback: (_, message) => {
        questions += 1;
        if (questions > 1) message.respond('another');
      },
    });
    await nc.flush();
    const mac = newMac();
    await mac.start();
    mac.write('not mine');
    await mac.fleet(({ state }) => state === 'refused');
    expect(await stream()).toEqual([]);
    other.unsubscribe();
  });

  test('continues after a late message of an earlier run', async () => {
    const mac = newMac();
    await mac.start();
    await mac.published(mac.write('one'));
    const [one] = await stream();
    if (one === undefined) throw new Error('nothing was published');
    // The next row as an earlier run would have published it, before it exists.
    const { headers, body } = encodeEvent({ ...one, row: 1, instance: 'earlier', id: one.id }, '{}', new Envelope());
    await jetstream(nc).publish(eventSubject(id), body, { headers, msgID: 'late' });
    await mac.published(mac.write('two'));
    expect(rowsOf(await stream())).toEqual([1, 1, 2]);
  });

  test('does not repeat a row that an earlier run published late', async () => {
    const jsm = await jetstreamManager(nc);
    await jsm.streams.update(EVENTS.stream, { duplicate_window: nanos(100) });
    const mac = newMac();
    await mac.start();
    await mac.published(mac.write('one'));
    const [one] = await stream();
    if (one === undefined) throw new Error('nothing was published');
    const late = { ...one, row: 2, previousRow: 1, instance: 'earlier', id: eventId(id, one.epoch, 'GUID-2') };
    const { headers, body } = encodeEvent(late, '{"data":{}}', new Envelope());
    await jetstream(nc).publish(eventSubject(id), body, { headers, msgID: late.id });
    // By now the broker itself has forgotten the message id.
    await jetstream(nc).publish('ev.probe', '', { msgID: `probe-${id}` });
    await eventually(async () => {
      const probe = await jetstream(nc).publish('ev.probe', '', { msgID: `probe-${id}` });
      expect(probe.duplicate).toBe(false);
    });
    mac.database?.message({ chat: 1, handle_id: 1, text: 'two', guid: 'GUID-2', date: appleDate(Date.now()) });
    await mac.published(mac.write('three'));
    expect(rowsOf(await stream())).toEqual([1, 2, 3]);
  });

  test('ignores messages that no agent wrote', async () => {
    await jetstream(nc).publish(eventSubject(id), new Uint8Array([0xff, 0xfe]));
    const mac = newMac();
    mac.write('one');
    await mac.start();
    await mac.published(1);
    await jetstream(nc).publish(eventSubject(id), '{"type":'.repeat(1000));
    await mac.published(mac.write('two'));
    expect((await mac.fleet()).state).toBe('connected');
  });

  test('finds a broker that starts later, and loses no event', async () => {
    const other = await NatsServer.start();
    await other.stop();
    const mac = newMac({ servers: [other.url] });
    await mac.start();
    expect(await mac.fleet()).toMatchObject({ state: 'away', published_row: null, behind: 0 });
    mac.write('one');
    await other.launch();
    await other.createFleet([id]);
    await mac.published(1);
    await mac.stop();
    await other.dispose();
  });

  test('encrypts content for hubs only, or omits it', async () => {
    const fleetKey = newFleetKeyLine();
    const keyFile = join(folder, `${id}.key`);
    writeFileSync(keyFile, macKeyLine(fleetKey, id), { mode: 0o600 });
    const mac = newMac({ content: 'encrypted', content_key_file: keyFile });
    await mac.start();
    await mac.published(mac.write('a secret'));
    await expect(stream()).rejects.toMatchObject({ code: 'fleet_content_unreadable' });
    await expect(stream(new Envelope(agentKeys(macKeyLine(fleetKey, 'other'))))).rejects.toThrow();
    const hub = new Envelope(hubKeys(fleetKey));
    expect((await stream(hub)).map(({ data }) => data.body)).toEqual(['a secret']);
    await mac.stop();
    mac.settings = { servers: [server.url], mac: id, content: 'metadata', content_key_file: keyFile };
    await mac.start();
    await mac.published(mac.write('another secret'));
    expect((await stream(hub)).at(-1)).toMatchObject({ isMetadata: true, row: 2, data: { id: '2', body: '' } });
  });

  test('publishes a message that is too large for the broker without its text', async () => {
    const mac = newMac();
    await mac.start();
    await mac.published(mac.write('x'.repeat(1_200_000)));
    expect(await stream()).toMatchObject([{ isMetadata: true, row: 1, data: { body: '' } }]);
  });

  test('announces its presence, its addresses and health, and that it leaves', async () => {
    const mac = newMac();
    mac.database?.message({ chat: 1, handle_id: 1, destination_caller_id: '+15550199' });
    const said: unknown[] = [];
    nc.subscribe(`$KV.${BUCKETS.macs}.${id}`, {
      callback: (_, message) => {
        said.push(unpackPresence(new Envelope(), id, message.data));
      },
    });
    await nc.flush();
    await mac.start();
    await eventually(() =>
      expect(said.at(-1)).toMatchObject({
        version: '1.2.3',
        addresses: ['+15550199'],
        health: { connected: true },
        isLeaving: false,
      }),
    );
    await mac.stop();
    await eventually(() => expect(said.at(-1)).toMatchObject({ isLeaving: true }));
  });
});
