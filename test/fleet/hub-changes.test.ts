import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { eventually } from '../support/eventually.ts';
import { FleetMac } from '../support/fleet-mac.ts';
import { ChangesReader, edit, erase, hasChangesOf, markRead } from '../support/hub-changes.ts';
import { allIdsAfter, listenTo } from '../support/hub-clients.ts';
import { HubFixture } from '../support/hub-fixture.ts';
import { describeWithNats, NatsServer } from '../support/nats-server.ts';
import { Receiver } from '../support/receiver.ts';
import { temporaryFolder } from '../support/temporary.ts';

const folder = temporaryFolder();

describeWithNats('changes at a hub', () => {
  let server: NatsServer;
  let hub: HubFixture;
  let mac: FleetMac;
  let quiet: FleetMac;
  let receiver: Receiver;
  const reader = new ChangesReader();
  beforeAll(async () => {
    server = await NatsServer.forFleet(['m1', 'm2']);
    mac = new FleetMac(join(folder, 'm1'), { servers: [server.url], mac: 'm1', changes: true });
    quiet = new FleetMac(join(folder, 'm2'), { servers: [server.url], mac: 'm2' });
    await mac.start();
    await quiet.start();
    hub = await HubFixture.start([server.url]);
    await hasChangesOf(hub, ['m1']);
    receiver = await Receiver.start();
  });
  afterAll(async () => {
    await receiver.close();
    await hub.dispose();
    for (const one of [mac, quiet]) await one.dispose();
    await server.dispose();
  });

  test('reach only clients that ask for them, in order with the rows', async () => {
    await reader.read(hub);
    expect(reader.partial).toBe('m2');
    const [plain, asking] = [await listenTo(hub), await listenTo(hub, '&changes=true')];
    const row = mac.write('before');
    await mac.published(row);
    edit(mac, row, 'after');
    await reader.reads(hub, [
      ['message.received', `m1~${row}`, 'before'],
      ['message.updated', `m1~${row}`, 'edited'],
    ]);
    markRead(mac, row);
    await eventually(async () => {
      await reader.read(hub);
      expect(reader.got).toHaveLength(3);
    });
    const next = mac.write('next');
    await mac.published(next);
    erase(mac, row);
    await reader.reads(hub, [
      ['message.received', `m1~${row}`, 'before'],
      ['message.updated', `m1~${row}`, 'edited'],
      ['message.updated', `m1~${row}`, 'read'],
      ['message.received', `m1~${next}`, 'next'],
      ['message.removed', `m1~${row}`, ''],
    ]);
    expect(await allIdsAfter(hub)).toEqual([`m1~${row}`, `m1~${next}`]);
    await eventually(() => Promise.resolve(expect(asking.ids).toHaveLength(5)));
    expect(plain.ids).toEqual([`m1~${row}`, `m1~${next}`]);
    // An offset from a stream with changes also works without them.
    expect(await allIdsAfter(hub, reader.offsets[1])).toEqual([`m1~${next}`]);
    expect((await hub.client.status()).macs?.map(({ id, changes }) => [id, changes])).toEqual([
      ['m1', true],
      ['m2', false],
    ]);
  });

  test('reach webhooks, and a webhook for rows does not count their numbers as missed', async () => {
    for (const events of [['message.updated', 'message.removed'], ['message.received']] as const) {
      await hub.client.addWebhook({ url: receiver.url, events, secret: 'a secret of 16 bytes' });
    }
    const row = mac.write('text');
    await mac.published(row);
    edit(mac, row, 'edited');
    await reader.gets(hub, ['message.updated', `m1~${row}`, 'edited']);
    const next = mac.write('next');
    await mac.published(next);
    erase(mac, row);
    const got = () => receiver.deliveries.map(({ event }) => `${event.type} ${event.data.id}`).sort();
    const wanted = [`message.received m1~${row}`, `message.received m1~${next}`];
    const changes = [`message.removed m1~${row}`, `message.updated m1~${row}`];
    await eventually(() => Promise.resolve(expect(got()).toEqual([...wanted, ...changes].sort())));
    for (const { id } of await hub.client.webhooks()) {
      const records = await hub.client.deliveries(id);
      expect(records.map(({ outcome }) => outcome)).toEqual(['delivered', 'delivered']);
    }
  });

  test('continue after restarts of the Mac and the hub, without a gap or a repeat', async () => {
    const row = mac.write('text');
    await mac.published(row);
    await reader.read(hub);
    const { length } = reader.got;
    await hub.close();
    edit(mac, row, 'while the hub is off');
    await eventually(async () => expect(JSON.stringify(await mac.get('/events?changes=true'))).toBe('[]'));
    await mac.stop();
    edit(mac, row, 'while both are off, and longer');
    await hub.start();
    await hub.connected();
    await mac.start();
    await eventually(async () => {
      expect(await reader.read(hub)).toEqual([200, undefined]);
      expect(reader.got.at(-1)).toEqual(['message.updated', `m1~${row}`, 'edited']);
    });
    markRead(mac, row);
    await eventually(async () => {
      await reader.read(hub);
      expect(reader.got.at(-1)).toEqual(['message.updated', `m1~${row}`, 'read']);
    });
    expect(reader.got.length - length).toBeLessThanOrEqual(4);
    expect(new Set(reader.offsets).size).toBe(reader.offsets.length);
  });
});
