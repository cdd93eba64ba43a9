import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { jetstreamManager } from '@nats-io/jetstream';
import { writePair } from '../../src/features/fleet/protocol/streams.ts';
import { appleDate } from '../../src/features/simulator/chat-database.ts';
import { eventually } from '../support/eventually.ts';
import { clientOf, FleetMac } from '../support/fleet-mac.ts';
import { ChangesReader, edit, erase, hasChangesOf, markRead } from '../support/hub-changes.ts';
import { allIdsAfter } from '../support/hub-clients.ts';
import { HubFixture } from '../support/hub-fixture.ts';
import { describeWithNats, NatsServer } from '../support/nats-server.ts';
import { Receiver } from '../support/receiver.ts';
import { KEY } from '../support/service.ts';
import { temporaryFolder } from '../support/temporary.ts';

const folder = temporaryFolder();
const ID = 'm1~gBOTH';

describeWithNats('changes of a pair', () => {
  let server: NatsServer;
  let hub: HubFixture;
  let receiver: Receiver;
  let macs: readonly FleetMac[] = [];
  beforeAll(async () => {
    server = await NatsServer.forFleet(['m1', 'm2']);
    const nc = await clientOf(server);
    await writePair(await jetstreamManager(nc), { mac: 'm1', standby: 'm2', sinceMs: Date.now() });
    await nc.close();
    macs = ['m1', 'm2'].map((mac) => new FleetMac(join(folder, mac), { servers: [server.url], mac, changes: true }));
    for (const mac of macs) await mac.start();
    hub = await HubFixture.start([server.url]);
    await hasChangesOf(hub, ['m1', 'm2']);
    receiver = await Receiver.start();
  });
  afterAll(async () => {
    await hub.dispose();
    for (const mac of macs) await mac.dispose();
    await receiver.close();
    await server.dispose();
  });

  test('arrive once, also at webhooks, whichever Mac sees them; a message that one saw deleted is hidden', async () => {
    const [m1, m2] = macs as readonly [FleetMac, FleetMac];
    const headers = { 'X-API-Key': KEY, 'Content-Type': 'application/json' };
    const body = JSON.stringify({
      url: receiver.url,
      events: ['message.updated', 'message.removed'],
      secret: 'a secret of 16',
    });
    expect((await fetch(`${hub.api}/webhooks`, { method: 'POST', headers, body })).status).toBe(201);
    const reader = new ChangesReader();
    await reader.read(hub);
    m2.write('only here, so that the rows differ');
    const message = { chat: 1, handle_id: 1, guid: 'BOTH', text: 'text', date: appleDate(Date.now()) };
    const rows = macs.map((mac) => mac.database?.message(message) ?? 0) as [number, number];
    await eventually(async () => expect(await allIdsAfter(hub)).toContain(ID));
    const told = async (): Promise<readonly string[]> => {
      await reader.read(hub);
      return reader.got
        .filter(([type, id]) => type !== 'message.received' && id === ID)
        .map(([type, , what]) => what || type);
    };
    edit(m1, rows[0], 'edited');
    await eventually(async () => expect(await told()).toEqual(['edited']));
    markRead(m2, rows[1]);
    await eventually(async () => expect(await told()).toEqual(['edited', 'read']));
    markRead(m1, rows[0]);
    edit(m2, rows[1], 'edited');
    for (const mac of macs) await mac.published(mac.write('then'));
    await eventually(async () => expect(await allIdsAfter(hub)).toHaveLength(4));
    expect((await hub.client.message(ID)).body).toBe('edited');
    erase(m1, rows[0]);
    await eventually(async () => expect(await told()).toEqual(['edited', 'read', 'message.removed']));
    expect((await hub.get(`/messages/${ID}`)).status).toBe(404);
    expect((await hub.client.messages({ limit: 50 })).map(({ id }) => id)).not.toContain(ID);
    await eventually(() =>
      expect(receiver.deliveries.map(({ event }) => [event.type, event.data.id])).toEqual([
        ['message.updated', ID],
        ['message.updated', ID],
        ['message.removed', ID],
      ]),
    );
    // The second Mac reports the message as read before it has the edit, but the hub shows the edited text.
    expect(receiver.deliveries[1]?.event.data).toMatchObject({ body: 'edited', status: 'read' });
  });
});
