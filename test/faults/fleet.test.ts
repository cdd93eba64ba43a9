import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { isLong } from '../support/conditions.ts';
import { describeWithNats } from '../support/nats-server.ts';
import { noDifferences } from './fleet-differences.ts';
import { FAULTS, STEADY_MS } from './fleet-faults.ts';
import { FleetHarness, type FleetSize } from './fleet-harness.ts';
import { wait } from './harness.ts';

/**
 * The long form is a cluster under the load that docs/project/guarantees.md states. A machine that cannot carry it is
 * given fewer rows with `ROWS_PER_SECOND`.
 */
const SIZE: FleetSize = isLong
  ? { servers: 3, macs: 20, processes: 4, rowsPerSecond: Number(process.env.ROWS_PER_SECOND ?? 300) }
  : { servers: 1, macs: 3, processes: 2, rowsPerSecond: 30, hasLines: true };
const LIMIT_MS = isLong ? 400_000 : 120_000;

/** The short form omits the further faults, because a lease takes ten seconds to end. */
const CASES = isLong
  ? [
      ...FAULTS,
      ...FAULTS.filter(({ isShort }) => isShort).map((fault) => ({
        ...fault,
        name: `${fault.name}, with a webhook`,
        size: { ...fault.size, hasWebhook: true },
      })),
    ]
  : FAULTS.filter(({ isShort }) => isShort);

/** Asks the local APIs continuously. Returns a function that reports how often they did not answer. */
function watchLocalApis({ agents }: FleetHarness) {
  const run = { isOn: true, asked: 0, failed: 0 };
  const ended = (async () => {
    while (run.isOn) {
      for (const agent of agents) {
        run.asked += 1;
        if (!(await agent.answers().catch(() => false))) run.failed += 1;
      }
      await wait(500);
    }
  })();
  return async () => {
    run.isOn = false;
    await ended;
    return run;
  };
}

describeWithNats(
  `a fleet of ${SIZE.macs} Macs at ${SIZE.rowsPerSecond} rows/s: nothing lost, repeated or out of order`,
  () => {
    let shared: FleetHarness | undefined;
    let repeatedBefore = 0;
    beforeAll(async () => {
      if (!isLong) shared = await FleetHarness.start(SIZE);
    }, LIMIT_MS);
    afterAll(() => shared?.end());

    test.each(CASES)(
      '$name',
      async ({ name, size, mayRepeat, clusterMayLose, hitsAgent, run }) => {
        const fleet = shared ?? (await FleetHarness.start({ ...SIZE, ...size }));
        const stop = hitsAgent ? undefined : watchLocalApis(fleet);
        try {
          await wait(STEADY_MS);
          const start = performance.now();
          await run(fleet);
          await wait(STEADY_MS);
          const behindS = await fleet.caughtUp(LIMIT_MS / 2);
          const local = await stop?.();
          const found = await fleet.compare();
          if (isLong) {
            console.log(name, JSON.stringify({ ...found, behindS, tookS: (performance.now() - start) / 1000, local }));
          }
          const nothing = { ...noDifferences(), events: expect.any(Number) };
          for (const one of found.clients) expect(one).toEqual(nothing);
          const isLossy = isLong && clusterMayLose === true;
          expect(isLossy ? { ...found.stream, lost: 0 } : found.stream).toEqual(nothing);
          // The webhook and the polling client get each event at least once, in order.
          for (const one of [found.webhook, found.polling]) {
            expect({ ...one, repeated: 0 }).toEqual(nothing);
          }
          const repeated = found.polling.repeated - repeatedBefore;
          if (fleet === shared) repeatedBefore = found.polling.repeated;
          // Each hub reads the events that the stream lost from the Macs, at another time than the other hub.
          if (!mayRepeat && found.stream.lost === 0) expect(repeated).toBe(0);
          expect(fleet.clients.map(({ failure }) => failure)).toEqual([undefined, undefined, undefined]);
          expect(local?.failed ?? 0).toBe(0);
        } finally {
          await stop?.();
          if (fleet !== shared) await fleet.end();
        }
      },
      LIMIT_MS,
    );
  },
);
