import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { jetstream } from '@nats-io/jetstream';
import { connect } from '@nats-io/transport-node';
import { bucketOf, claimKey, claimSend, firstMachine } from '../../src/features/fleet/hub/claims.ts';
import type { FleetConnection } from '../../src/features/fleet/protocol/connection.ts';
import { deriveMemberKey, Envelope, memberKeys } from '../../src/features/fleet/protocol/envelope.ts';
import { eventSubject, isOfBroker } from '../../src/features/fleet/protocol/subjects.ts';
import { eventually, waitFor } from '../support/eventually.ts';
import { Fleet, type Hub } from '../support/fleet-fixture.ts';
import { describeWithNats, NatsServer } from '../support/nats-server.ts';
import { Receiver } from '../support/receiver.ts';
import { StandInMachine } from '../support/stand-in-mac-machine.ts';

/** What the broker answers to a publish, which a Mac can let it send to any subject. */
const ANSWER = '{"stream":"EV", "seq":7}';
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
    const subject = eventSubject({ member, seed: fleet.seedOf(member) }, guid, 'row');
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

  test('makes no hub doubt its keys by an answer of the broker at the subject of another', async () => {
    const nc = await connect({ servers: server.url });
    await jetstream(nc).publish('ev.m1.x', ANSWER);
    await nc.close();
    await waitFor(async () => (await (await hub.get('/metrics')).text()).includes('postern_hub_rejected_events 1'));
    expect((await hub.get('/ready')).status).toBe(200);
  });

  test('claims nothing by an answer of the broker', async () => {
    const nc = await connect({ servers: server.url });
    const connection = { js: jetstream(nc) } as unknown as FleetConnection;
    const bucket = await bucketOf(connection, 'claims');
    for (const key of [claimKey('m1'), 'a-key']) await bucket.put(key, ANSWER);
    expect(await firstMachine(connection, 'm1', ['m1-a'])).toBe('m1-a');
    expect(await claimSend(connection, 'a-key', 'm1-a')).toMatchObject({ machine: 'm1-a', isNew: true });
    expect(await claimSend(connection, 'a-key', 'm1-b')).toMatchObject({ machine: 'm1-a', isNew: false });
    await nc.close();
  });

  test('cannot know the subject of an event of another', () => {
    const [one, same, other] = ['s', 's', 't'].map((seed) => eventSubject({ member: 'm1', seed }, 'GUID', 'row'));
    expect(same).toBe(one);
    expect(other).not.toBe(one);
    expect(one).toMatch(/^ev\.m1\.[\w-]{22}$/);
  });

  test('no key makes everything that is sealed with it look like an answer of the broker', () => {
    const sealed = Buffer.from('{"so its id begins');
    expect([ANSWER, '{"type":"x"}'].map((text) => isOfBroker(Buffer.from(text)))).toEqual([true, true]);
    expect(isOfBroker(sealed)).toBe(false);
  });
});
