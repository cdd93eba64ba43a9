import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { canaryText } from '../../src/features/canary/text.ts';
import { appleDate } from '../../src/features/simulator/chat-database.ts';
import { eventually } from '../support/eventually.ts';
import { clientOf, FleetMac, rowsOf, streamOf } from '../support/fleet-mac.ts';
import { allIdsAfter, hasEvents } from '../support/hub-clients.ts';
import { HubFixture } from '../support/hub-fixture.ts';
import { describeWithNats, NatsServer } from '../support/nats-server.ts';
import { temporaryFolder } from '../support/temporary.ts';

const folder = temporaryFolder();
const ME = '+15550100';

describeWithNats('canaries of a Mac reach no hub', () => {
  let server: NatsServer;
  let mac: FleetMac;
  let hub: HubFixture;
  beforeAll(async () => {
    server = await NatsServer.forFleet(['m1']);
    mac = new FleetMac(join(folder, 'm1'), { servers: [server.url], mac: 'm1' });
    mac.canarySelf = ME;
    hub = await HubFixture.start([server.url]);
    await mac.start();
  });
  afterAll(async () => {
    await hub.dispose();
    await mac.dispose();
    await server.dispose();
  });

  /** Writes a canary as Messages does: the sent row and its incoming copy. Returns the row id of the copy. */
  function writeCanary(number: number): number {
    const row = {
      chat: 1,
      handle_id: 1,
      text: canaryText(String(number).padStart(8, '0')),
      date: appleDate(Date.now()),
    };
    mac.database?.message({ ...row, is_from_me: 1 });
    return mac.database?.message(row) ?? 0;
  }

  test('through the stream, and they leave neither a hole nor a Mac that counts as behind', async () => {
    const one = mac.write('one');
    const canary = writeCanary(1);
    await mac.published(canary);
    await eventually(async () =>
      expect((await hub.client.status()).macs).toMatchObject([{ newest_row: canary, behind: 0 }]),
    );
    const two = mac.write('two');
    await hasEvents(hub, [`m1~${one}`, `m1~${two}`]);
    const nc = await clientOf(server);
    const events = await streamOf(nc, 'm1');
    await nc.close();
    expect(rowsOf(events)).toEqual([one, two]);
    expect(events.at(-1)?.previousRow).toBe(one);
    expect(JSON.stringify(hub.log.lines)).not.toContain('rows that the stream lacked');
  });

  test('or as rows that a hub requests because the stream lost them', async () => {
    const before = await allIdsAfter(hub);
    await hub.close();
    const three = mac.write('three');
    for (let number = 2; number < 150; number += 1) writeCanary(number);
    const four = mac.write('four');
    await mac.published(four);
    await server.deleteEvents([3, 4]);
    await hub.start();
    const five = mac.write('five');
    await hasEvents(hub, [...before, `m1~${three}`, `m1~${four}`, `m1~${five}`]);
    expect(JSON.stringify(hub.log.lines)).toContain('rows that the stream lacked');
  });
});
