import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { waitFor } from '../support/eventually.ts';
import { Fleet } from '../support/fleet-fixture.ts';
import { describeWithNats, NatsServer } from '../support/nats-server.ts';

describeWithNats('a hub in front of a Mac', () => {
  let server: NatsServer;
  let fleet: Fleet;

  beforeAll(async () => {
    server = await NatsServer.forFleet();
  });
  afterAll(() => server.dispose());
  afterEach(() => fleet.stop());

  test('shows the events of a Mac, and passes its API on', async () => {
    fleet = new Fleet(server);
    const mac = await fleet.mac('m1');
    const hub = await fleet.hub();
    mac.write('one', 'G-1');
    mac.write('two', 'G-2');
    expect(await hub.texts(2)).toEqual(['one', 'two']);
    const { events } = await hub.events('after=0');
    expect(events[0]).toMatchObject({ type: 'message.received', data: { id: 'gG-1', mac: 'm1' } });
    await waitFor(async () => ((await (await hub.get('/api/v1/macs')).json()) as object[]).length === 1);
    // On a busy machine the Mac may not acknowledge its first request within two seconds.
    await waitFor(async () => (await hub.get('/macs/m1/api/v1/health')).status === 200);
    const answer = await hub.get('/macs/m1/api/v1/messages?limit=1');
    expect(await answer.json()).toMatchObject([{ body: 'two' }]);
    expect([answer.status, answer.headers.get('postern-machine')]).toEqual([200, 'm1-a']);
  });
});
