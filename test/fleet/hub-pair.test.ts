import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { jetstreamManager } from '@nats-io/jetstream';
import type { Message } from '../../src/client/postern-client.ts';
import { systemClock } from '../../src/core/runtime/clock.ts';
import { SendClaims } from '../../src/features/fleet/hub/send-claims.ts';
import { FleetConnection } from '../../src/features/fleet/protocol/connection.ts';
import { Envelope } from '../../src/features/fleet/protocol/envelope.ts';
import { hubName } from '../../src/features/fleet/protocol/layout.ts';
import { hashOfRequest } from '../../src/features/fleet/protocol/sends.ts';
import { removeMac, writePair } from '../../src/features/fleet/protocol/streams.ts';
import { appleDate } from '../../src/features/simulator/chat-database.ts';
import { eventually, waitFor } from '../support/eventually.ts';
import { clientOf, FleetMac } from '../support/fleet-mac.ts';
import { allIdsAfter, eventsOf, hasEvents, idsOf } from '../support/hub-clients.ts';
import { HubFixture } from '../support/hub-fixture.ts';
import { collectingLog } from '../support/log.ts';
import { describeWithNats, NatsServer } from '../support/nats-server.ts';
import { nextOf } from '../support/next-page.ts';
import { KEY } from '../support/service.ts';
import { simulatedMac } from '../support/simulated-mac.ts';
import { temporaryFolder } from '../support/temporary.ts';

const folder = temporaryFolder();
const PAIR = { mac: 'm1', standby: 'm2', sinceMs: Date.now() };

async function makePair(server: NatsServer): Promise<void> {
  const nc = await clientOf(server);
  await writePair(await jetstreamManager(nc), PAIR);
  await nc.close();
}

const statusOf = async (hub: HubFixture, path: string) => (await hub.get(path)).status;
const message = (hub: HubFixture, id: string) => hub.client.message(id);
const detailed = (hub: HubFixture, id: string) => hub.client.message(id, { include: 'details' });

describeWithNats('a pair of Macs at a hub', () => {
  let server: NatsServer;
  let hub: HubFixture;
  let m1: FleetMac;
  let m2: FleetMac;
  beforeAll(async () => {
    server = await NatsServer.forFleet(['m1', 'm2']);
    m1 = new FleetMac(join(folder, 'm1'), { servers: [server.url], mac: 'm1' });
    m2 = new FleetMac(join(folder, 'm2'), { servers: [server.url], mac: 'm2' });
    hub = await HubFixture.start([server.url]);
    await m1.start();
  });
  afterAll(async () => {
    await hub.dispose();
    for (const mac of [m1, m2]) await mac.dispose();
    await server.dispose();
  });

  /** Writes a message as iCloud delivers it to one of the Macs. */
  function write(
    mac: FleetMac,
    guid: string,
    columns: Readonly<Record<string, string | bigint | number>> = {},
  ): number {
    const date = appleDate(Date.now());
    const row = { chat: 1, handle_id: 1, guid, text: `text of ${guid}`, date, ...columns };
    return mac.database?.message(row) ?? 0;
  }

  test('has every message once, under an id that works without either Mac', async () => {
    const alone = write(m1, 'ALONE');
    await hasEvents(hub, [`m1~${alone}`]);
    await makePair(server);
    await eventually(async () => expect((await message(hub, `m1~${alone}`)).id).toBe('m1~gALONE'));
    const { offset = '' } = (await eventsOf(hub))[0] ?? {};
    write(m2, 'FILL');
    write(m2, 'B');
    write(m2, 'ALONE');
    await m2.start();
    await hasEvents(hub, [`m1~${alone}`, 'm1~gFILL', 'm1~gB']);
    for (const guid of ['B', 'C', 'FILL']) write(m1, guid);
    await m1.published(4);
    write(m2, 'C');
    await m2.published(4);
    const ids = ['m1~gFILL', 'm1~gB', 'm1~gC'];
    await eventually(async () => expect(await allIdsAfter(hub, offset)).toEqual(ids));
    expect((await eventsOf(hub)).map(({ data }) => data.mac)).toEqual(['m1', 'm1', 'm1', 'm1']);
    for (const id of [...ids, `m1~${alone}`, 'm2~1']) {
      expect(await message(hub, id)).toMatchObject({ mac: 'm1', id: expect.stringMatching(/^m1~g/) });
    }
    expect((await hub.client.messages({ limit: 50 })).map(({ id }) => id).sort()).toEqual(['m1~gALONE', ...ids].sort());
    expect(await hub.client.conversations()).toHaveLength(1);
    expect(await statusOf(hub, '/messages/m1~gNONE')).toBe(404);
  });

  test('shows an edit and a receipt that only one of them has seen', async () => {
    const own = { is_from_me: 1, handle_id: 0 };
    const row = write(m1, 'EDITED', own);
    write(m2, 'EDITED', own);
    await eventually(async () => expect(await allIdsAfter(hub)).toContain('m1~gEDITED'));
    const at = appleDate(Date.now());
    m1.database?.sqlite.prepare('UPDATE message SET text = ?, date_edited = ? WHERE ROWID = ?').run('edited', at, row);
    const seen = 'UPDATE message SET is_delivered = 1, date_delivered = ?, is_read = 1, date_read = ? WHERE guid = ?';
    m2.database?.sqlite.prepare(seen).run(at, at, 'EDITED');
    await eventually(async () =>
      expect(await detailed(hub, 'm1~gEDITED')).toMatchObject({
        body: 'edited',
        status: 'read',
        details: { edited_at: expect.any(String), read_at: expect.any(String) },
      }),
    );
    expect(await message(hub, 'm1~gEDITED')).not.toHaveProperty('details');
  });

  test('continues when one of them is off: events, messages, lists and earlier ids', async () => {
    await m1.stop();
    write(m2, 'ONLY-2');
    await eventually(async () => expect((await allIdsAfter(hub)).at(-1)).toBe('m1~gONLY-2'));
    for (const id of ['m1~gC', 'm1~gALONE', 'm1~1', 'm1~gONLY-2']) {
      expect([id, await statusOf(hub, `/messages/${id}`)]).toEqual([id, 200]);
    }
    const list = await hub.get('/messages?limit=50');
    const listed = (await list.json()) as Message[];
    expect([list.headers.get('postern-partial'), listed.map(({ id }) => id)]).toEqual([
      null,
      expect.arrayContaining(['m1~gONLY-2', 'm1~gB']),
    ]);
    const page = await hub.get('/messages?limit=2&conversation_id=m1~any;-;%2B15550100');
    const next = nextOf(page) ?? '';
    await m1.start();
    await m2.stop();
    // It has the same place in the other Mac's list.
    await eventually(async () => {
      const rest = await fetch(new URL(`/api/v1${next}`, hub.url), { headers: { 'X-API-Key': KEY } });
      expect([rest.status, ((await rest.json()) as Message[]).length]).toEqual([200, 2]);
    });
    await m2.start();
  });

  test('stays one while the broker forgets everything, and at a hub that is new then', async () => {
    await hub.close();
    await hub.start();
    await hub.connected();
    const before = await allIdsAfter(hub);
    expect(before[0]).toBe('m1~gALONE');
    await server.deleteStore();
    await server.launch();
    await server.createFleet(['m1', 'm2']);
    await makePair(server);
    write(m1, 'AFTER');
    write(m2, 'AFTER');
    await eventually(async () => expect(await allIdsAfter(hub)).toEqual([...before, 'm1~gAFTER']));
    const other = await HubFixture.start([server.url]);
    await eventually(async () => expect((await allIdsAfter(other)).sort()).toEqual([...before, 'm1~gAFTER'].sort()));
    // From every offset, the other hub skips nothing.
    for (const [from, to] of [
      [hub, other],
      [other, hub],
    ] as const) {
      const events = await eventsOf(from);
      for (const [place, { offset }] of events.entries()) {
        const seen = [...idsOf(events.slice(0, place + 1)), ...(await allIdsAfter(to, offset))];
        expect(new Set(seen).size).toBe(events.length);
      }
    }
    await other.dispose();
  });

  test('ends when one of them is revoked, even for a hub that was off at that time', async () => {
    await hub.close();
    const nc = await clientOf(server);
    await removeMac(await jetstreamManager(nc), 'm2');
    await nc.close();
    await hub.start();
    await eventually(async () => expect((await message(hub, 'm1~1')).id).toBe('m1~1'));
  });
});

describeWithNats('sends of a pair', () => {
  let server: NatsServer;
  const hubs: HubFixture[] = [];
  const sims: Awaited<ReturnType<typeof simulatedMac>>[] = [];
  const macs: FleetMac[] = [];
  beforeAll(async () => {
    server = await NatsServer.forFleet(['m1', 'm2']);
    await makePair(server);
    for (const mac of ['m1', 'm2']) {
      const sim = await simulatedMac();
      sims.push(sim);
      macs.push(new FleetMac(join(folder, `sends-${mac}`), { servers: [server.url], mac }, sim));
      await macs.at(-1)?.start();
    }
    for (let n = 0; n < 2; n += 1) hubs.push(await HubFixture.start([server.url]));
    for (const hub of hubs) await present(hub, 2);
  });
  afterAll(async () => {
    for (const hub of hubs) await hub.dispose();
    for (const mac of macs) await mac.dispose();
    for (const sim of sims) await sim.dispose();
    await server.dispose();
  });

  const present = (hub: HubFixture | undefined, count: number) =>
    waitFor(async () => {
      const { macs: known = [] } = (await hub?.client.status()) ?? {};
      return known.filter(({ state }) => state === 'present').length === count;
    });
  const send = async (hub: HubFixture | undefined, body: object, key?: string) => {
    const answer = await fetch(`${hub?.api}/messages`, {
      method: 'POST',
      headers: { 'X-API-Key': KEY, 'Content-Type': 'application/json', ...(key && { 'Idempotency-Key': key }) },
      body: JSON.stringify(body),
    });
    return { status: answer.status, json: (await answer.json()) as Message & { code?: string } };
  };
  /** Returns how often each Mac has sent a text. */
  const sent = (text: string) => sims.map(({ calls }) => calls.filter(({ values }) => values.BODY === text).length);

  test('go through one Mac for all hubs, once for a key', async () => {
    const request = { recipient: '+15550144', from: 'm2', body: 'once' };
    const answers = await Promise.all([...hubs, ...hubs].map((hub) => send(hub, request, 'k1')));
    expect(answers.every(({ status }) => status === 201 || status === 409)).toBe(true);
    expect(sent('once')).toEqual([1, 0]);
    const { json } = await send(hubs[1], request, 'k1');
    expect(json).toMatchObject({
      mac: 'm1',
      id: expect.stringMatching(/^m1~g./),
      conversation_id: 'm1~any;-;+15550144',
    });
    const { json: reply } = await send(hubs[0], { recipient: json.conversation_id, body: 'reply' });
    expect([reply.mac, sent('reply')]).toEqual(['m1', [1, 0]]);
  });

  test('go through the other Mac when one is off, and stay there when it is back', async () => {
    await macs[0]?.stop();
    await present(hubs[0], 1);
    for (const [n, hub] of hubs.entries()) {
      expect((await send(hub, { recipient: '+15550144', from: 'm1', body: `stood in ${n}` })).status).toBe(201);
      expect(sent(`stood in ${n}`)).toEqual([0, 1]);
    }
    await macs[0]?.start();
    await present(hubs[0], 2);
    await send(hubs[1], { recipient: '+15550144', from: 'm1', body: 'sticky' });
    expect(sent('sticky')).toEqual([0, 1]);
  });

  test('with an unknown outcome are never tried by the other Mac', async () => {
    const request = { recipient: '+15550144', from: 'm1', body: 'unknown' };
    // What a hub leaves behind that ends right after choosing the holder.
    const connection = new FleetConnection(
      { servers: [server.url], keyFile: '', caFile: '' },
      { clock: systemClock, log: collectingLog(), name: hubName('test') },
    );
    await waitFor(() => connection.isConnected);
    const claims = new SendClaims({ connection, envelope: new Envelope(), clock: systemClock });
    const { recipient, ...content } = request;
    await claims.claim('k2', { mac: 'm2', recipient, askedHash: hashOfRequest({ recipient, ...content }) });
    await connection.close();
    await macs[1]?.stop();
    for (const hub of hubs) {
      const { status, json } = await send(hub, request, 'k2');
      expect([status, json.code]).toEqual([504, 'send_outcome_unknown']);
    }
    await macs[1]?.start();
    for (const hub of hubs) await present(hub, 2);
    expect(sent('unknown')).toEqual([0, 0]);
    expect([(await send(hubs[1], request, 'k2')).status, sent('unknown')]).toEqual([201, [0, 1]]);
  });

  test('are not repeated by the other Mac after the broker forgot which Mac used a key', async () => {
    const nc = await clientOf(server);
    const { streams } = await jetstreamManager(nc);
    for (const bucket of ['outcomes', 'webhooks']) await streams.purge(`KV_${bucket}`);
    await nc.close();
    // Without the lease the first Mac would be asked first, although the second one knows the key.
    const request = { recipient: '+15550144', from: 'm1', body: 'unknown' };
    expect([(await send(hubs[0], request, 'k2')).status, sent('unknown')]).toEqual([201, [0, 1]]);
  });
});
