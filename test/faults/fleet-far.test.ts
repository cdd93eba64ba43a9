import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { describeWithNats } from '../support/fleet-server.ts';
import { KEY } from '../support/service.ts';
import { ALL_THERE, FleetRun } from './fleet-run.ts';

/** A Mac publishes one event in each round trip, so at most ten a second. */
const DELAY_MS = 50;

describeWithNats('nothing of a fleet whose parts are 50 ms apart is lost', () => {
  let run: FleetRun;
  beforeAll(async () => {
    run = await FleetRun.start(3, DELAY_MS);
  });
  afterAll(() => run?.end());

  test('while nothing else happens, and a request passes', async () => {
    const outcome = await run.under('50 ms between the parts', async () => {
      const url = new URL('/macs/m2/api/v1/messages?limit=1', run.world.hub(0).url);
      const answer = await fetch(url, { headers: { 'x-api-key': KEY, connection: 'close' } });
      expect(answer.status).toBe(200);
      await run.passes(3000);
    });
    expect(outcome).toMatchObject(ALL_THERE);
  });

  test('when the leader of the stream is killed', async () => {
    const outcome = await run.under('50 ms between the parts, kill -9 of the leader', async () => {
      const leader = await run.world.leader();
      await leader.stop();
      await run.passes(2000);
      await leader.start();
    });
    expect(outcome).toMatchObject(ALL_THERE);
  });
});
