import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { eventually } from '../support/eventually.ts';
import { allIdsAfter, eventsOf, hasEvents, rowsOf } from '../support/hub-clients.ts';
import { HubFixture } from '../support/hub-fixture.ts';
import { describeWithNats, NatsServer } from '../support/nats-server.ts';
import { quickClock } from '../support/quick-clock.ts';
import { StandInAgent } from '../support/stand-in-agent.ts';

const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

let made = 0;
const clock = quickClock(10);

describeWithNats('rows that the stream dropped before a hub could read them', () => {
  let server: NatsServer;
  let m1: StandInAgent;
  let m2: StandInAgent;
  beforeAll(async () => {
    server = await NatsServer.forFleet(['m1', 'm2']);
  });
  afterAll(() => server.dispose());
  beforeEach(async () => {
    await server.purgeEvents();
    made += 1;
    m1 = await agentOf('m1');
    m2 = await agentOf('m2');
  });

  async function agentOf(mac: string, epoch = `e${made}`): Promise<StandInAgent> {
    const agent = await StandInAgent.connect(server.url, mac, undefined, epoch);
    closers.push(() => agent.close());
    agent.follow();
    return agent;
  }

  async function hub(): Promise<HubFixture> {
    const started = await HubFixture.start([server.url], {}, undefined, clock);
    closers.push(() => started.dispose());
    return started;
  }

  const newestOf = async (some: HubFixture): Promise<string> => (await eventsOf(some)).at(-1)?.offset ?? '';
  const codeOf = async (some: HubFixture, after: string): Promise<unknown> => {
    const answer = await some.get(`/events?after=${after}`);
    return [answer.status, ((await answer.json()) as { code?: string }).code];
  };

  test('come although their Mac has published nothing since', async () => {
    await m1.supply();
    await m1.publish(1, 2);
    const one = await hub();
    await hasEvents(one, rowsOf('m1', 1, 2));
    const before = await newestOf(one);
    await one.close();
    await m1.publish(3, 5);
    await m2.publish(1, 2);
    await server.deleteEvents([3, 4, 5]);
    await one.start();
    await hasEvents(one, [...rowsOf('m1', 1, 2), ...rowsOf('m2', 1, 2)]);
    await m1.announce();
    await hasEvents(one, [...rowsOf('m1', 1, 2), ...rowsOf('m2', 1, 2), ...rowsOf('m1', 3, 5)]);
    expect(await allIdsAfter(one, before)).toHaveLength(5);
    m1.follow({ sequence: 0 });
    await m1.publish(6);
    await eventually(async () => expect((await allIdsAfter(one)).at(-1)).toBe('m1~6'));
    expect((await one.client.status()).macs?.map(({ open_holes: holes }) => holes)).toEqual([0]);
  });

  test('come when they were the newest of the whole stream', async () => {
    await m1.supply();
    await m1.publish(1, 2);
    const one = await hub();
    await hasEvents(one, rowsOf('m1', 1, 2));
    await one.close();
    await m1.publish(3, 5);
    await server.purgeEvents();
    await one.start();
    await m1.announce();
    await hasEvents(one, rowsOf('m1', 1, 5));
    // The Mac goes on, and the stream has nothing before it.
    m1.follow({ sequence: 0 });
    await m1.publish(6, 7);
    await hasEvents(one, rowsOf('m1', 1, 7));
  });

  test('are not skipped by a client that goes to a hub that has them, before their Mac has named them', async () => {
    await m1.publish(1, 2);
    const [one, other] = [await hub(), await hub()];
    await hasEvents(one, rowsOf('m1', 1, 2));
    await one.close();
    await m1.publish(3, 5);
    await hasEvents(other, rowsOf('m1', 1, 5));
    await server.deleteEvents([3, 4, 5]);
    await m2.publish(1, 2);
    await hasEvents(other, [...rowsOf('m1', 1, 5), ...rowsOf('m2', 1, 2)]);
    await one.start();
    await hasEvents(one, [...rowsOf('m1', 1, 2), ...rowsOf('m2', 1, 2)]);
    expect(await allIdsAfter(other, await newestOf(one))).toEqual(expect.arrayContaining(rowsOf('m1', 3, 5)));
    // Once every Mac has spoken, offsets are exact again.
    await m1.supply();
    await m1.announce();
    await m2.announce();
    await hasEvents(one, [...rowsOf('m1', 1, 2), ...rowsOf('m2', 1, 2), ...rowsOf('m1', 3, 5)]);
    let row = 2;
    await eventually(async () => {
      row += 1;
      await m2.publish(row);
      await eventually(async () => expect((await allIdsAfter(one)).at(-1)).toBe(`m2~${row}`));
      expect(await allIdsAfter(other, await newestOf(one))).toEqual([]);
    });
  });

  test('of a new chat.db end what was resumed: nobody knows the first of them', async () => {
    await m1.publish(1, 2);
    await m2.publish(1);
    const one = await hub();
    await hasEvents(one, [...rowsOf('m1', 1, 2), 'm2~1']);
    const before = await newestOf(one);
    await one.close();
    const replaced = await agentOf('m1', `e${made}-replaced`);
    replaced.follow(m1);
    await replaced.publish(1, 4, 0);
    await server.deleteEvents([4, 5, 6]);
    await one.start();
    await hasEvents(one, [...rowsOf('m1', 1, 2), 'm2~1', 'm1~4']);
    expect(await codeOf(one, before)).toEqual([410, 'offset_expired']);
  });

  test('of a new chat.db that came whole change nothing for anybody', async () => {
    await m1.publish(1, 2);
    const one = await hub();
    await hasEvents(one, rowsOf('m1', 1, 2));
    const before = await newestOf(one);
    await one.close();
    const replaced = await agentOf('m1', `e${made}-replaced`);
    replaced.follow(m1);
    await replaced.publish(1, 2, 0);
    await replaced.announce();
    await one.start();
    await eventually(async () => expect(await allIdsAfter(one, before)).toEqual(rowsOf('m1', 1, 2)));
  });

  test('before a hub was made are no loss to its clients', async () => {
    await m1.publish(1, 4);
    await m1.announce();
    await server.purgeEvents();
    await m2.publish(1);
    const one = await hub();
    await hasEvents(one, ['m2~1']);
    await m1.announce();
    const before = await newestOf(one);
    m1.follow({ sequence: 0 });
    await m1.publish(5, 6);
    await eventually(async () => expect(await allIdsAfter(one, before)).toEqual(rowsOf('m1', 5, 6)));
  });
});
