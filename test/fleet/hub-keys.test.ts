import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { newFleetKey } from '../../src/features/fleet/protocol/envelope.ts';
import { eventually, waitFor } from '../support/eventually.ts';
import { Fleet } from '../support/fleet-fixture.ts';
import { describeWithNats, NatsServer } from '../support/nats-server.ts';
import { Receiver } from '../support/receiver.ts';

describeWithNats('while the content key of a fleet changes', () => {
  let server: NatsServer;
  let fleet: Fleet;
  let receiver: Receiver;
  const fresh = newFleetKey();

  beforeEach(async () => {
    server = await NatsServer.forFleet();
    fleet = new Fleet(server);
    receiver = await Receiver.start();
  });
  afterEach(async () => {
    await fleet.stop();
    await receiver.close();
    await server.dispose();
  });

  const texts = (): unknown[] => receiver.deliveries.map(({ event }) => event.data.body);
  const settings = () => ({ url: receiver.url, events: ['message.received'] });

  test('webhooks get events that one hub has no key for from another hub, in order', async () => {
    const [hub, stale] = [await fleet.hub([fleet.key, fresh]), await fleet.hub()];
    const { id } = (await (await hub.post('/api/v1/webhooks', settings())).json()) as { id: string };
    await waitFor(async () => (await stale.get(`/api/v1/webhooks/${id}`)).status === 200);
    const old = await fleet.mac('m1');
    const mac = await fleet.mac('m2', 'm2-a', { file: fleet.file('m2', [fresh]) });
    old.write('old');
    await eventually(() => expect(texts()).toEqual(['old']));
    for (const text of ['a', 'b', 'c', 'd']) mac.write(text);
    await eventually(() => expect(texts()).toEqual(['old', 'a', 'b', 'c', 'd']));
  });

  test('no event is lost while no hub has its key', async () => {
    const stale = await fleet.hub();
    expect((await stale.post('/api/v1/webhooks', settings())).status).toBe(201);
    const mac = await fleet.mac('m1', 'm1-a', { file: fleet.file('m1', [fresh]) });
    for (const text of ['a', 'b']) mac.write(text);
    await waitFor(async () => (await stale.get('/ready')).status === 503);
    await fleet.hub([fleet.key, fresh]);
    await eventually(() => expect(texts()).toEqual(['a', 'b']));
  });

  test('a paused webhook outlives the old key', async () => {
    const before = await fleet.hub();
    const answer = await before.post('/api/v1/webhooks', { ...settings(), enabled: false });
    const { id } = (await answer.json()) as { id: string };
    await before.stop();
    const after = await fleet.hub([fresh]);
    await fleet.hub([fresh, fleet.key]);
    await waitFor(async () => (await after.get(`/api/v1/webhooks/${id}`)).status === 200);
  });
});
