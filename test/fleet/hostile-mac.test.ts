import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { jetstream } from '@nats-io/jetstream';
import { connect } from '@nats-io/transport-node';
import { deriveMemberKey, Envelope, memberKeys } from '../../src/features/fleet/protocol/envelope.ts';
import { eventSubject } from '../../src/features/fleet/protocol/subjects.ts';
import { eventually, waitFor } from '../support/eventually.ts';
import { Fleet, type Hub } from '../support/fleet-fixture.ts';
import { describeWithNats, NatsServer } from '../support/nats-server.ts';
import { Receiver } from '../support/receiver.ts';
import { StandInMachine } from '../support/stand-in-mac-machine.ts';

/** JSON that can be parsed, but is nested too deeply to be written again. */
const DEEP = `${'['.repeat(20_000)}${']'.repeat(20_000)}`;

describeWithNats('a Mac of a fleet that was taken over', () => {
  let server: NatsServer;
  let fleet: Fleet;
  let hub: Hub;

  beforeEach(async () => {
    server = await NatsServer.forFleet();
    fleet = new Fleet(server);
    hub = await fleet.hub();
  });
  afterEach(async () => {
    await fleet.stop();
    await server.dispose();
  });

  async function publish(member: string, guid: string, json: string, fleetKey = fleet.key): Promise<void> {
    const subject = eventSubject(member, guid, 'row');
    const envelope = new Envelope(memberKeys([deriveMemberKey(fleetKey, member)]));
    const nc = await connect({ servers: server.url });
    await jetstream(nc).publish(subject, envelope.seal(member, subject, Buffer.from(json)));
    await nc.close();
  }

  test('stops neither events nor webhooks of others by an event that cannot be written', async () => {
    const receiver = await Receiver.start();
    const settings = { url: receiver.url, events: ['message.received'] };
    expect((await hub.post('/api/v1/webhooks', settings)).status).toBe(201);
    const data = `{"id":"gA","guid":"A","conversation_id":"c","sender":"s","is_from_me":false,"x":${DEEP}}`;
    await publish('m1', 'A', `{"event":{"type":"message.received","data":${data}},"machine":"m1-a","row":1,"atMs":1}`);
    const mac = await fleet.mac('m2');
    mac.write('of another Mac');
    await eventually(() => expect(receiver.deliveries.map(({ event }) => event.data.body)).toEqual(['of another Mac']));
    expect(await hub.texts(1)).toEqual(['of another Mac']);
    await receiver.close();
  });

  test('is missing from the list of conversations if its rows cannot be written', async () => {
    const chat = '{"id":"any;-;+15550100","last_message_at":"2026-01-01T00:00:00Z"';
    const listing = (more: string) =>
      StandInMachine.start(fleet, more === '' ? 'm2' : 'm1', {
        handle: (_request, response) =>
          void response.writeHead(200, { 'content-type': 'application/json' }).end(`[${chat}${more}}]`),
      });
    const machines = [await listing(`,"x":${DEEP}`), await listing('')];
    const answer = await waitFor(async () => {
      const found = await hub.get('/api/v1/conversations');
      return found.headers.get('postern-partial') === 'm1' && found;
    });
    expect(answer.status).toBe(200);
    expect(await answer.json()).toMatchObject([{ mac: 'm2' }]);
    await Promise.all(machines.map((one) => one.stop()));
  });
});
