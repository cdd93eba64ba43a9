import { cpSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, test } from '@jest/globals';
import { Envelope } from '../../src/features/fleet/protocol/envelope.ts';
import { sendSubject } from '../../src/features/fleet/protocol/layout.ts';
import { encodeOrder, unpackOutcome } from '../../src/features/fleet/protocol/sends.ts';
import { eventually } from '../support/eventually.ts';
import { clientOf, FleetMac, rowsOf as rowsIn, streamOf } from '../support/fleet-mac.ts';
import { allIdsAfter, eventsOf, hasEvents, rowsOf } from '../support/hub-clients.ts';
import { HubFixture } from '../support/hub-fixture.ts';
import { Line } from '../support/line.ts';
import { describeWithNats, NatsServer } from '../support/nats-server.ts';
import { temporaryFolder } from '../support/temporary.ts';

const folder = temporaryFolder();
const closers: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

/** Tests the promises of docs/fleet.md, "Backup", about a restored older copy of the broker's store. */
describeWithNats("an older copy of the broker's store, restored", () => {
  test('receives the missing events from the Macs, sends none of its old sends, and repeats nothing at a hub', async () => {
    const server = await NatsServer.forFleet(['m1']);
    closers.push(() => server.dispose());
    const line = await Line.to(server.port);
    closers.push(() => line.close());
    const mac = new FleetMac(join(folder, 'm1'), { servers: [line.url], mac: 'm1' });
    closers.push(() => mac.dispose());
    const hub = await HubFixture.start([server.url]);
    closers.push(() => hub.dispose());
    await mac.start();
    await mac.published(mac.write('one'));
    await mac.stop();
    const client = await clientOf(server);
    const order = { key: 'waits', deadlineMs: Date.now() - 1, request: { recipient: '+15550100', body: 'too late' } };
    const { headers, body } = encodeOrder('m1', order, 'attempt', new Envelope());
    await client.request(sendSubject('m1'), body, { headers, timeout: 5000 });
    await client.close();
    await server.stop('SIGTERM');
    const copy = `${server.storeFolder}-copy`;
    cpSync(server.storeFolder, copy, { recursive: true });

    await server.launch();
    await mac.start();
    await mac.published(mac.write('two'));
    await mac.published(mac.write('three'));
    await hasEvents(hub, rowsOf('m1', 1, 3));
    const last = (await eventsOf(hub)).at(-1)?.offset ?? '';
    // The Mac announces the old send's outcome once, so it comes back only after the listener.
    line.cut(true);
    await server.stop();
    rmSync(server.storeFolder, { recursive: true });
    cpSync(copy, server.storeFolder, { recursive: true });
    await server.launch();

    const outcomes: unknown[] = [];
    const listener = await clientOf(server);
    closers.push(() => listener.close());
    listener.subscribe('done.m1.*', {
      callback: (_, { data }) => void outcomes.push(unpackOutcome(new Envelope(), 'm1', 'waits', data).reply),
    });
    await listener.flush();
    line.cut(false);
    const four = mac.write('four');
    await eventually(async () => expect(rowsIn(await streamOf(listener, 'm1'))).toEqual([1, 2, 3, four]));
    await hasEvents(hub, rowsOf('m1', 1, 4));
    expect(await allIdsAfter(hub, last)).toEqual(rowsOf('m1', 4, 4));
    await eventually(() => expect(outcomes).toEqual([{ problem: expect.objectContaining({ code: 'send_expired' }) }]));
  });
});
