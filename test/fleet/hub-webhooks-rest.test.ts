import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { NatsConnection } from '@nats-io/nats-core';
import { managerOf } from '../../src/features/fleet/protocol/connect-once.ts';
import { createFleet } from '../../src/features/fleet/protocol/streams.ts';
import { FleetFolder } from '../../src/features/fleet/setup/fleet-folder.ts';
import { MEMBER_FILES } from '../../src/features/fleet/setup/member-files.ts';
import { connectOperator } from '../../src/features/fleet/setup/operator-connection.ts';
import { eventually, waitFor } from '../support/eventually.ts';
import { FleetServer, newFleet } from '../support/fleet-server.ts';
import { HubFixture } from '../support/hub-fixture.ts';
import { describeWithNats } from '../support/nats-server.ts';
import { quickClock } from '../support/quick-clock.ts';
import { Receiver } from '../support/receiver.ts';
import { KEY } from '../support/service.ts';
import { StandInAgent } from '../support/stand-in-agent.ts';
import { temporaryFolder } from '../support/temporary.ts';

type Body = Readonly<Record<string, unknown>>;

const parent = temporaryFolder();
const range = (from: number, to: number): number[] => Array.from({ length: to - from + 1 }, (_, index) => from + index);

describeWithNats('webhooks at two hubs that have only the rights of hubs', () => {
  let server: FleetServer;
  let operator: NatsConnection | undefined;
  let fleet: Body;
  let hubs: HubFixture[] = [];
  let agents: StandInAgent[] = [];
  let receiver: Receiver;
  beforeAll(async () => {
    const path = join(parent, 'fleet');
    const folder = await newFleet(path, ['m1', 'm2']);
    server = await FleetServer.start(path);
    operator = await connectOperator(FleetFolder.open(path), 'operator');
    await createFleet(await managerOf(operator));
    receiver = await Receiver.start();
    const hub = folder.memberFolder('hub');
    const key_file = join(hub, MEMBER_FILES.key);
    fleet = { key_file, content: 'encrypted', content_key_file: join(hub, MEMBER_FILES.content) };
    hubs = await Promise.all([start(), start()]);
    agents = await Promise.all(['m1', 'm2'].map((mac) => StandInAgent.in(folder, server.url, mac)));
  });
  afterAll(async () => {
    await Promise.all(hubs.map((hub) => hub.dispose()));
    await Promise.all(agents.map((agent) => agent.close()));
    await receiver.close();
    await operator?.close();
    await server.stop();
  });

  const clock = quickClock(5, () => operator);
  const start = (): Promise<HubFixture> => HubFixture.start([server.url], fleet, undefined, clock);

  async function call(hub: number, method: string, path: string, body?: Body): Promise<Response> {
    return fetch(`${hubs[hub]?.api}/webhooks${path}`, {
      method,
      headers: { 'X-API-Key': KEY, 'Content-Type': 'application/json' },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
  }

  async function get(hub: number, path: string): Promise<Body> {
    const response = await call(hub, 'GET', path);
    expect(response.status).toBe(200);
    return (await response.json()) as Body;
  }

  /** Registers a webhook once: one of the same name may exist although its answer came too late. */
  function register(hub: number, name: string, others: Body = {}): Promise<string> {
    const given = { url: receiver.url, events: ['message.received'], name, ...others };
    return waitFor(async () => {
      const webhooks = (await (await call(hub, 'GET', '')).json()) as readonly Body[];
      const known = webhooks.find((webhook) => webhook.name === name);
      const answer = known ?? ((await (await call(hub, 'POST', '', given)).json()) as Body);
      return answer.id as string | undefined;
    });
  }

  const rows = (): unknown[] => receiver.deliveries.map(({ event }) => event.data.id);
  const of = (mac: string, from: number, to: number): string[] => range(from, to).map((row) => `${mac}~${row}`);

  test('are registered, shown, changed, tested, replayed and removed at either hub, and receive each event once', async () => {
    const [m1, m2] = agents;
    const id = await register(0, 'a bot', { secret: 'hunter2' });
    await m1?.publish(1, 30);
    await m2?.publish(1, 30);
    await eventually(() => expect(rows()).toEqual([...of('m1', 1, 30), ...of('m2', 1, 30)]));
    expect(receiver.deliveries[0]?.event).toMatchObject({ data: { mac: 'm1' }, offset: expect.any(String) });
    for (const hub of [0, 1]) {
      await eventually(async () => expect(await get(hub, `/${id}`)).toMatchObject({ name: 'a bot', behind: 0 }));
      expect(await get(hub, `/${id}/deliveries`)).toHaveLength(60 + hub);
      expect(await get(hub, '')).toEqual([expect.objectContaining({ id })]);
      expect((await call(hub, 'POST', `/${id}/test`)).status).toBe(200);
    }
    const status = (await (await hubs[1]?.get('/status'))?.json()) as Body;
    expect(status.webhooks).toEqual([expect.objectContaining({ id, state: 'healthy', last_outcome: 'delivered' })]);
    receiver.deliveries.splice(0);

    const filter = { conversation_ids: ['m2~any;-;+15550100'] };
    expect(await (await call(1, 'PATCH', `/${id}`, { filter, name: null })).json()).toMatchObject({
      name: null,
      filter,
    });
    await m1?.publish(31);
    await m2?.publish(31);
    await eventually(() => expect(rows()).toEqual(['m2~31']));
    const [first] = receiver.deliveries.map(({ event }) => event as unknown as { readonly offset: string });
    await m2?.publish(32, 33);
    await eventually(() => expect(rows()).toEqual(of('m2', 31, 33)));
    // A delivery counts as done a moment after its receiver has it.
    await eventually(async () => expect(await get(0, `/${id}`)).toMatchObject({ behind: 0 }));
    expect((await call(0, 'POST', `/${id}/replay`, { after: first?.offset })).status).toBe(202);
    await eventually(() => expect(rows()).toEqual([...of('m2', 31, 33), ...of('m2', 32, 33)]));
    expect((await call(1, 'POST', `/${id}/replay`, { after: 7 })).status).toBe(400);

    expect((await call(1, 'DELETE', `/${id}`)).status).toBe(204);
    expect((await call(0, 'GET', `/${id}`)).status).toBe(404);
    expect((await call(0, 'DELETE', `/${id}`)).status).toBe(404);
  });

  test('are gone after both hubs remove them at the same time, and neither answers 503', async () => {
    for (let round = 0; round < 10; round += 1) {
      const id = await register(round % 2, `round ${round}`);
      await eventually(async () => expect(await get((round + 1) % 2, `/${id}`)).toMatchObject({ id }));
      const both = await Promise.all([0, 1].map((hub) => call(hub, 'DELETE', `/${id}`)));
      expect(both.map(({ status }) => status).sort()).toEqual([204, 404]);
    }
  });

  test('refuse what a hub does not do', async () => {
    const given = { url: receiver.url, events: ['message.received'] };
    const filters = [{ filter: { max_age_s: 1800 } }, { filter: { junk: false } }];
    for (const more of [{ include: ['details'] }, ...filters]) {
      const answer = await call(0, 'POST', '', { ...given, ...more });
      expect(answer.status).toBe(501);
      expect(await answer.json()).toMatchObject({ code: 'not_at_a_hub' });
    }
    expect((await call(0, 'POST', '', { ...given, url: 'nothing' })).status).toBe(400);
  });

  test('continue at the other hub when theirs stops, and then at a new hub with an empty folder', async () => {
    const id = await register(1, 'the last');
    receiver.deliveries.splice(0);
    const [m1] = agents;
    await m1?.publish(32, 40);
    await eventually(() => expect(rows()).toEqual(of('m1', 32, 40)));
    await hubs[0]?.close();
    await m1?.publish(41, 50);
    await eventually(() => expect(new Set(rows())).toEqual(new Set(of('m1', 32, 50))));
    const third = await start();
    hubs.push(third);
    await hubs[1]?.close();
    await m1?.publish(51, 60);
    await eventually(() => expect(rows()).toContain('m1~60'));
    // At least once, in order, and repeats have the same id.
    expect([...new Set(rows())]).toEqual(of('m1', 32, 60));
    const ids = receiver.deliveries.map(({ headers }) => headers['x-webhook-delivery']);
    expect(new Set(ids).size).toBe(29);
    expect(rows()).toHaveLength(29);
    await eventually(async () => expect(await get(2, `/${id}`)).toMatchObject({ behind: 0 }));
  });
});
