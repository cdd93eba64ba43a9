import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { isLong } from '../support/conditions.ts';
import { describeWithNats } from '../support/nats-server.ts';
import { wait } from './harness.ts';
import { PairFleet } from './pair-fleet.ts';

/** Milliseconds of load before and after a fault. */
const STEADY_MS = isLong ? 3000 : 500;
const PAUSE_MS = isLong ? 20_000 : 3000;
const LIMIT_MS = 240_000;

interface Fault {
  readonly name: string;
  readonly isShort?: true;
  readonly run: (fleet: PairFleet) => Promise<void>;
}

const FAULTS: readonly Fault[] = [
  {
    name: 'kill -9 of the Mac that sends',
    isShort: true,
    async run({ macs: [mac] }) {
      await mac?.service.stop('SIGKILL');
      await wait(PAUSE_MS);
      await mac?.service.launch();
    },
  },
  {
    name: 'SIGSTOP of the Mac that sends, for a minute',
    isShort: true,
    async run({ macs: [mac] }) {
      process.kill(mac?.service.pid ?? 0, 'SIGSTOP');
      await wait(isLong ? 60_000 : PAUSE_MS);
      process.kill(mac?.service.pid ?? 0, 'SIGCONT');
    },
  },
  ...(['both ways', 'to the broker', 'from the broker'] as const).map(
    (way): Fault => ({
      name: `the line of the Mac that sends cut, ${way}`,
      ...(way === 'to the broker' && { isShort: true }),
      async run({ macs: [mac] }) {
        mac?.line.cut(way);
        await wait(PAUSE_MS);
        mac?.line.restore();
      },
    }),
  ),
  {
    name: 'lines that flap, each in turn',
    async run({ macs }) {
      for (let turn = 0; turn < 20; turn += 1) {
        const line = macs[turn % 2]?.line;
        line?.cut();
        await wait(1000);
        line?.restore();
        await wait(500);
      }
    },
  },
  {
    name: 'a clock that jumps an hour forward and back, at each Mac',
    async run({ macs }) {
      for (const { service } of [...macs, ...macs]) {
        process.kill(service.pid, 'SIGUSR2');
        await wait(2000);
      }
    },
  },
  {
    name: 'one Mac without iCloud for an hour, then everything at once in another order',
    isShort: true,
    async run(fleet) {
      fleet.isKeeping = true;
      for (let written = 0; written < (isLong ? 5000 : 300); written += 100) fleet.write(100);
      await fleet.bringKept();
    },
  },
  {
    name: 'a hub killed, and the Mac that sends with it',
    async run({ macs: [mac], hubs: [hub] }) {
      await Promise.all([hub?.stop(), mac?.service.stop('SIGKILL')]);
      await wait(PAUSE_MS);
      await Promise.all([hub?.launch(), mac?.service.launch()]);
    },
  },
];

describeWithNats(
  'a pair of Macs, two hubs, and one key for each send at both: nothing lost, published or sent twice',
  () => {
    let shared: PairFleet | undefined;
    beforeAll(async () => {
      if (!isLong) shared = await PairFleet.start();
    }, LIMIT_MS);
    afterAll(() => shared?.end());

    test.each(FAULTS.filter(({ isShort }) => isLong || isShort))(
      '$name',
      async ({ name, run }) => {
        const fleet = shared ?? (await PairFleet.start());
        try {
          fleet.begin();
          await wait(STEADY_MS);
          fleet.mark();
          await run(fleet);
          await wait(STEADY_MS);
          const figures = await fleet.figures();
          console.log(name, JSON.stringify(figures));
          expect(figures).toMatchObject({
            lost: [0, 0],
            outOfOrder: [0, 0],
            publishedTwice: 0,
            sentTwice: 0,
            neverSent: 0,
          });
          // A client that changes hubs may get some events again.
          expect(figures.repeated[0]).toBe(0);
          expect(figures.sends).toBeGreaterThan(figures.unknown);
        } finally {
          if (fleet !== shared) await fleet.end();
        }
      },
      LIMIT_MS,
    );
  },
);
