import { expect, test } from '@jest/globals';
import { eventually } from '../support/eventually.ts';
import { allIdsAfter, eventsOf, hasEvents, rowsOf } from '../support/hub-clients.ts';
import type { HubFixture } from '../support/hub-fixture.ts';
import { codeAfter, LossyFleet } from '../support/lossy-fleet.ts';
import { describeWithNats } from '../support/nats-server.ts';

describeWithNats('rows that the stream dropped before a hub could read them', () => {
  const fleet = new LossyFleet({ isFollowing: true });

  const newestOf = async (some: HubFixture): Promise<string> => (await eventsOf(some)).at(-1)?.offset ?? '';
  test('arrive although their Mac has published nothing since', async () => {
    await fleet.m1.supply();
    await fleet.m1.publish(1, 2);
    const one = await fleet.hubAt();
    await hasEvents(one, rowsOf('m1', 1, 2));
    const before = await newestOf(one);
    await one.close();
    await fleet.m1.publish(3, 5);
    await fleet.m2.publish(1, 2);
    await fleet.server.deleteEvents([3, 4, 5]);
    await one.start();
    await hasEvents(one, [...rowsOf('m1', 1, 2), ...rowsOf('m2', 1, 2)]);
    await fleet.m1.announce();
    await hasEvents(one, [...rowsOf('m1', 1, 2), ...rowsOf('m2', 1, 2), ...rowsOf('m1', 3, 5)]);
    expect(await allIdsAfter(one, before)).toHaveLength(5);
    fleet.m1.follow({ sequence: 0 });
    await fleet.m1.publish(6);
    await eventually(async () => expect((await allIdsAfter(one)).at(-1)).toBe('m1~6'));
    expect((await one.client.status()).macs?.map(({ open_holes: holes }) => holes)).toEqual([0]);
  });

  test('arrive if they were the newest of the whole stream', async () => {
    await fleet.m1.supply();
    await fleet.m1.publish(1, 2);
    const one = await fleet.hubAt();
    await hasEvents(one, rowsOf('m1', 1, 2));
    await one.close();
    await fleet.m1.publish(3, 5);
    await fleet.server.purgeEvents();
    await one.start();
    await fleet.m1.announce();
    await hasEvents(one, rowsOf('m1', 1, 5));
    // The Mac continues to publish, but the stream holds no older events.
    fleet.m1.follow({ sequence: 0 });
    await fleet.m1.publish(6, 7);
    await hasEvents(one, rowsOf('m1', 1, 7));
  });

  test('are not skipped by a client that changes to a hub that has them before their Mac has announced them', async () => {
    await fleet.m1.publish(1, 2);
    const [one, other] = [await fleet.hubAt(), await fleet.hubAt()];
    await hasEvents(one, rowsOf('m1', 1, 2));
    await one.close();
    await fleet.m1.publish(3, 5);
    await hasEvents(other, rowsOf('m1', 1, 5));
    await fleet.server.deleteEvents([3, 4, 5]);
    await fleet.m2.publish(1, 2);
    await hasEvents(other, [...rowsOf('m1', 1, 5), ...rowsOf('m2', 1, 2)]);
    await one.start();
    await hasEvents(one, [...rowsOf('m1', 1, 2), ...rowsOf('m2', 1, 2)]);
    expect(await allIdsAfter(other, await newestOf(one))).toEqual(expect.arrayContaining(rowsOf('m1', 3, 5)));
    // Also after a restart, before any Mac has reported.
    await one.close();
    await one.start();
    await fleet.m2.publish(3);
    await eventually(async () => expect((await allIdsAfter(one)).at(-1)).toBe('m2~3'));
    expect(await allIdsAfter(other, await newestOf(one))).toEqual(expect.arrayContaining(rowsOf('m1', 3, 5)));
    // Once every Mac has reported, offsets are exact again.
    await fleet.m1.supply();
    await fleet.m1.announce();
    await fleet.m2.announce();
    await hasEvents(one, [...rowsOf('m1', 1, 2), ...rowsOf('m2', 1, 3), ...rowsOf('m1', 3, 5)]);
    let row = 3;
    await eventually(async () => {
      row += 1;
      await fleet.m2.publish(row);
      await eventually(async () => expect((await allIdsAfter(one)).at(-1)).toBe(`m2~${row}`));
      expect(await allIdsAfter(other, await newestOf(one))).toEqual([]);
    });
  });

  test('end resumed connections if chat.db is new, because it is unknown where the rows begin', async () => {
    await fleet.m1.publish(1, 2);
    await fleet.m2.publish(1);
    const one = await fleet.hubAt();
    await hasEvents(one, [...rowsOf('m1', 1, 2), 'm2~1']);
    const before = await newestOf(one);
    await one.close();
    const replaced = await fleet.agentOf('m1', `${fleet.epoch}-replaced`);
    replaced.follow(fleet.m1);
    await replaced.publish(1, 4, 0);
    await fleet.server.deleteEvents([4, 5, 6]);
    await one.start();
    await hasEvents(one, [...rowsOf('m1', 1, 2), 'm2~1', 'm1~4']);
    expect(await codeAfter(one, before)).toEqual([410, 'offset_expired']);
  });

  test('affect no client if all rows of a new chat.db arrived', async () => {
    await fleet.m1.publish(1, 2);
    const one = await fleet.hubAt();
    await hasEvents(one, rowsOf('m1', 1, 2));
    const before = await newestOf(one);
    await one.close();
    const replaced = await fleet.agentOf('m1', `${fleet.epoch}-replaced`);
    replaced.follow(fleet.m1);
    await replaced.publish(1, 2, 0);
    await replaced.announce();
    await one.start();
    await eventually(async () => expect(await allIdsAfter(one, before)).toEqual(rowsOf('m1', 1, 2)));
  });

  test('are no loss to clients of a hub that was created later', async () => {
    await fleet.m1.publish(1, 4);
    await fleet.m1.announce();
    await fleet.server.purgeEvents();
    await fleet.m2.publish(1);
    const one = await fleet.hubAt();
    await hasEvents(one, ['m2~1']);
    await fleet.m1.announce();
    const before = await newestOf(one);
    fleet.m1.follow({ sequence: 0 });
    await fleet.m1.publish(5, 6);
    await eventually(async () => expect(await allIdsAfter(one, before)).toEqual(rowsOf('m1', 5, 6)));
  });
});
