import { mkdtempSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { jetstreamManager } from '@nats-io/jetstream';
import type { NatsConnection } from '@nats-io/nats-core';
import { connect } from '@nats-io/transport-node';
import type { Clock } from '../../src/core/model/ports/host-ports.ts';
import { openSqlite } from '../../src/core/runtime/sqlite.ts';
import { Envelope, hubKeys, newFleetKeyLine } from '../../src/features/fleet/protocol/envelope.ts';
import { SENDS, sendSubject } from '../../src/features/fleet/protocol/layout.ts';
import { decodeOrder } from '../../src/features/fleet/protocol/sends.ts';
import { eventually, waitFor } from '../support/eventually.ts';
import { clientOf, FleetMac } from '../support/fleet-mac.ts';
import { allIdsAfter, hasEvents, rowsOf } from '../support/hub-clients.ts';
import { HubFixture } from '../support/hub-fixture.ts';
import { describeWithNats, NatsServer } from '../support/nats-server.ts';
import { quickClock } from '../support/quick-clock.ts';
import { Receiver } from '../support/receiver.ts';
import { KEY } from '../support/service.ts';
import { StandInAgent } from '../support/stand-in-agent.ts';
import { temporaryFolder } from '../support/temporary.ts';

const folder = temporaryFolder();
const READY = [200, { ready: true }];
const DAY_MS = 86_400_000;

describeWithNats('a hub that cannot serve says so to a balancer', () => {
  let server: NatsServer;
  let agent: StandInAgent;
  let client: NatsConnection | undefined;
  const newClock = () => quickClock(20, () => client);
  const clocks = [newClock(), newClock(), newClock()] as const;
  let newest = 0;
  const keyLine = newFleetKeyLine();
  const envelope = new Envelope(hubKeys(keyLine));

  beforeAll(async () => {
    server = await NatsServer.forFleet(['m1']);
    client = await clientOf(server);
    agent = await StandInAgent.connect(server.url, 'm1', envelope);
    await agent.announce();
  });
  afterAll(async () => {
    await agent.close();
    await client?.close();
    await server.dispose();
  });

  function hubWith(line: string, clock: Clock): Promise<HubFixture> {
    const file = join(folder, `content-${line.slice(0, 6).replaceAll('/', '-')}.key`);
    writeFileSync(file, `${line}\n`);
    const settings = { content: 'encrypted', content_key_file: file };
    return HubFixture.launch([server.url], settings, mkdtempSync(join(folder, 'hub-')), clock);
  }

  /** Publishes the next rows of the Mac. */
  async function publish(count: number): Promise<void> {
    await agent.publish(newest + 1, newest + count);
    newest += count;
  }

  const isReady = (hub: HubFixture) => eventually(async () => expect(await hub.ready()).toEqual(READY));
  const isNot = (hub: HubFixture, ...reasons: readonly string[]) =>
    eventually(async () => expect(await hub.ready()).toEqual([503, { ready: false, reasons }]));

  test('with another content key: events are refused, webhooks do not move, and health says why', async () => {
    const receiver = await Receiver.start();
    const hub = await hubWith(keyLine, clocks[0]);
    await isReady(hub);
    await eventually(() => hub.client.addWebhook({ url: receiver.url, events: ['message.received'] }));
    const other = await hubWith(newFleetKeyLine(), clocks[1]);
    await isNot(other, 'content_key_wrong');
    const refused = await other.get('/events?after=0');
    expect([refused.status, ((await refused.json()) as { code: string }).code]).toEqual([503, 'hub_key_wrong']);
    expect((await other.client.health()).backend).toMatchObject({
      connected: false,
      message: expect.stringContaining('fleet.content_key_file'),
    });
    await publish(3);
    await eventually(() => expect(receiver.deliveries).toHaveLength(3));
    await hub.close();
    const startMs = clocks[1].monotonic();
    await waitFor(() => clocks[1].monotonic() - startMs > 20_000);
    await hub.start();
    await publish(3);
    await eventually(() => expect(receiver.deliveries.map(({ event }) => event.data.id)).toEqual(rowsOf('m1', 1, 6)));
    await Promise.all([hub.dispose(), other.dispose(), receiver.close()]);
  });

  test('with a wrong clock: no event is deleted and no send expires because of it', async () => {
    const clock = clocks[2];
    const hub = await hubWith(keyLine, clock);
    await isReady(hub);
    await publish(2);
    await hasEvents(hub, rowsOf('m1', 1, newest));
    clock.step(8 * DAY_MS);
    await isNot(hub, 'clock_differs');
    expect((await hub.client.health()).backend.message).toContain("691200 s ahead of the broker's");
    const startMs = clock.monotonic();
    await waitFor(() => clock.monotonic() - startMs > 65_000);
    expect(await allIdsAfter(hub)).toEqual(rowsOf('m1', 1, newest));

    clock.step(-8 * DAY_MS - 300_000);
    await eventually(async () => expect((await hub.client.health()).backend.message).toContain('300 s behind'));
    await agent.answer('attachmentMistakes', { result: [] });
    const body = JSON.stringify({ recipient: '+15550100', body: 'x', from: 'm1' });
    const headers = { 'X-API-Key': KEY, 'Content-Type': 'application/json' };
    const nc = await connect({ servers: server.url });
    const { streams } = await jetstreamManager(nc);
    const order = await waitFor(async () => {
      // On a busy machine this clock can run ahead, and then no outcome of a send arrives in time.
      await agent.announce();
      const signal = AbortSignal.timeout(1000);
      await fetch(`${hub.api}/messages`, { method: 'POST', headers, body, signal }).catch(() => undefined);
      return (await streams.getMessage(SENDS.stream, { last_by_subj: sendSubject('m1') })) ?? undefined;
    });
    const { deadlineMs } = decodeOrder('m1', order.header, order.data, envelope);
    expect(Math.abs(deadlineMs - order.time.getTime() - 60_000)).toBeLessThan(5000);
    await nc.close();
    clock.step(300_000);
    await isReady(hub);
    await hub.dispose();
  });

  test('while its copy cannot be written, and while the broker is away', async () => {
    const hub = await hubWith(keyLine, clocks[0]);
    await isReady(hub);
    const locked = openSqlite(hub.databasePath);
    locked.exec('BEGIN EXCLUSIVE');
    await publish(1);
    await eventually(async () => expect((await hub.ready())[0]).toBe(503));
    await eventually(async () => expect(JSON.stringify(await hub.ready())).toContain('copy_failing'));
    locked.exec('ROLLBACK');
    locked.close();
    await isReady(hub);
    await hasEvents(hub, rowsOf('m1', 1, newest));
    await server.stop();
    await isNot(hub, 'broker_away');
    expect((await hub.get('/health')).status).toBe(200);
    await server.launch();
    await isReady(hub);
    await hub.dispose();
  });

  test('with a clock that is set by days: its Mac is still asked for rows that the stream lacks', async () => {
    const clock = clocks[0];
    clock.step(-8 * DAY_MS);
    const hub = await hubWith(keyLine, clock);
    await agent.announce();
    newest += 2;
    await agent.publish(newest, newest, newest - 1);
    await eventually(async () => expect((await hub.client.status()).macs).toMatchObject([{ open_holes: 1 }]));
    clock.step(8 * DAY_MS);
    await agent.supply();
    const hasAll = () =>
      eventually(async () => {
        await agent.announce();
        expect(await allIdsAfter(hub)).toEqual(rowsOf('m1', 1, newest));
      });
    await hasAll();
    await isReady(hub);
    clock.step(8 * DAY_MS);
    await isNot(hub, 'clock_differs');
    // Only its presence says that the Mac has published one more row.
    newest += 1;
    await agent.publish(1, 0, newest);
    await hasAll();
    clock.step(-8 * DAY_MS);
    await hub.dispose();
  });

  test('and the service of one Mac while chat.db is away', async () => {
    const mac = new FleetMac(join(folder, 'm9'), {});
    await mac.start();
    expect(await mac.ready()).toEqual(READY);
    renameSync(mac.chatDbPath, `${mac.chatDbPath}-away`);
    await eventually(async () =>
      expect(await mac.ready()).toEqual([503, { ready: false, reasons: ['chat_db_unavailable'] }]),
    );
    await mac.dispose();
  });
});
