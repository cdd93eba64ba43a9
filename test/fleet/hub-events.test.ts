import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import type { TrackedEvent } from '../../src/client/postern-client.ts';
import { eventually } from '../support/eventually.ts';
import { HubFixture } from '../support/hub-fixture.ts';
import { describeWithNats, NatsServer } from '../support/nats-server.ts';
import { StandInAgent } from '../support/stand-in-agent.ts';

const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

type Shown = TrackedEvent & { readonly data: { readonly id: string; readonly mac: string } };

async function agentOf(server: NatsServer, mac: string): Promise<StandInAgent> {
  const agent = await StandInAgent.connect(server.url, mac);
  closers.push(() => agent.close());
  return agent;
}

async function hubOf(server: NatsServer, folder?: string): Promise<HubFixture> {
  const hub = await HubFixture.start([server.url], {}, folder);
  closers.push(() => hub.dispose());
  return hub;
}

async function eventsOf(hub: HubFixture, after: string): Promise<Shown[]> {
  const response = await hub.get(`/events?limit=1000&after=${after}`);
  expect(response.status).toBe(200);
  return (await response.json()) as Shown[];
}

const idsOf = (events: readonly Shown[]): string[] => events.map(({ data }) => data.id);

describeWithNats('the events of a hub', () => {
  let server: NatsServer;
  beforeAll(async () => {
    server = await NatsServer.forFleet(['m1', 'm2']);
  });
  afterAll(async () => {
    await server.dispose();
  });

  test('carry their Mac, qualified ids and an offset, in the order of the stream', async () => {
    const [m1, m2] = [await agentOf(server, 'm1'), await agentOf(server, 'm2')];
    await m1.publish(1);
    await m2.publish(1);
    await m1.publish(2);
    const hub = await hubOf(server);
    await eventually(async () => expect(idsOf(await eventsOf(hub, '0'))).toEqual(['m1~1', 'm2~1', 'm1~2']));
    const [first] = await eventsOf(hub, '0');
    expect(first).toEqual({
      type: 'message.received',
      data: expect.objectContaining({ id: 'm1~1', conversation_id: 'm1~any;-;+15550100', mac: 'm1', body: 'row 1' }),
      offset: expect.stringMatching(/^[\w-]{40,}$/),
    });
  });
});
