import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { describeWithNats } from '../support/fleet-server.ts';
import { ALL_THERE, FleetRun, LOST_NOTHING } from './fleet-run.ts';
import { pause, resume } from './fleet-world.ts';

const STOPPED_RUNS = Number(process.env.FLEET_LEADER_STOPS ?? 1);

describeWithNats('nothing of a fleet with three servers is lost', () => {
  let run: FleetRun;
  beforeAll(async () => {
    run = await FleetRun.start(3);
  });
  afterAll(() => run?.end());

  test('when the leader of the stream is killed', async () => {
    const outcome = await run.under('kill -9 of the leader', async () => {
      const leader = await run.world.leader();
      await leader.stop();
      await run.passes(2000);
      await leader.start();
    });
    expect(outcome).toMatchObject(ALL_THERE);
  });

  test.each(Array.from({ length: STOPPED_RUNS }, (_, index) => [index + 1]))(
    'when the leader of the stream stops for 8 s (%i)',
    async () => {
      const outcome = await run.under('SIGSTOP of the leader', async () => {
        const leader = await run.world.leader();
        pause(leader);
        await run.passes(8000);
        resume(leader);
      });
      expect(outcome).toMatchObject(LOST_NOTHING);
    },
  );

  test('when the leader of the stream stops, without which all the others go on', async () => {
    const outcome = await run.under('SIGSTOP of the leader until everything has arrived', async () => {
      const leader = await run.world.leader();
      pause(leader);
      await run.passes(1000);
      await run.arrived().finally(() => resume(leader));
    });
    expect(outcome).toMatchObject(LOST_NOTHING);
  });

  test('when all servers are killed at once', async () => {
    const outcome = await run.under('kill -9 of all servers', async () => {
      await Promise.all(run.world.servers.map((server) => server.stop()));
      await Promise.all(run.world.servers.map((server) => server.start()));
    });
    expect(outcome).toMatchObject(ALL_THERE);
  });
});
