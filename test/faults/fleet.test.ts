import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { waitFor } from '../support/eventually.ts';
import { describeWithNats } from '../support/fleet-server.ts';
import { FleetWorld } from './fleet-world.ts';
import { Watchers } from './fleet-watchers.ts';

describeWithNats('a fleet with one server', () => {
  let world: FleetWorld;
  let watchers: Watchers;
  beforeAll(async () => {
    world = await FleetWorld.start(1, [['m1', 'm1-a'], ['m1', 'm1-b'], ['m2', 'm2'], ['m3', 'm3']]);
    watchers = await Watchers.start(world);
  });
  afterAll(async () => {
    await watchers?.end();
    await world?.end();
  });
  test('loses nothing when a hub is killed', async () => {
    for (let i = 0; i < 30; i += 1) world.write(['m1', 'm2', 'm3'][i % 3] ?? '');
    await world.hub(0).stop('SIGKILL');
    for (let i = 0; i < 30; i += 1) world.write(['m1', 'm2', 'm3'][i % 3] ?? '');
    await world.hub(0).launch();
    await waitFor(() => Object.values(watchers.missing()).every((count) => count === 0), 30_000).catch(() => {});
    const stream = await world.stream();
    console.log(JSON.stringify(watchers.tallies(stream)), stream.length);
    expect(watchers.missing()).toEqual({ webhook: 0, poll: 0, live: 0 });
  });
});
