import { expect, test } from '@jest/globals';
import { Chance } from '../../src/features/simulator/chatter.ts';
import { describedSends, drawSendSchedule, type SendStepName, sendFailureOf } from '../support/pair-sends.ts';
import { newSeed, schedulesOfForm } from '../support/seed.ts';

const steps = (which: number, ...names: readonly SendStepName[]) => names.map((name) => ({ do: name, which }));
const times = (count: number) => Array.from({ length: count }, (): SendStepName => 'go');

const SCHEDULES = schedulesOfForm(300, 20_000);

test(
  'whatever two hubs, two Macs and the broker do, a key of a pair is sent at most once, and never tried at both Macs',
  async () => {
    const seed = newSeed('sends of a pair');
    for (let number = 0; number < SCHEDULES; number += 1) {
      const steps = drawSendSchedule(new Chance((seed + number) >>> 0));
      const failure = await sendFailureOf(steps);
      if (failure !== undefined) throw new Error(`SEED=${(seed + number) >>> 0}\n${describedSends(steps)}\n${failure}`);
    }
    expect(SCHEDULES).toBeGreaterThan(0);
  },
  SCHEDULES * 500,
);

test.each(['the first', 'the second'])(
  'of two requests with one key, %s is not told that nothing was sent when the Mac of the other one sent and died',
  async (loser) => {
    const asked = [...steps(0, 'send'), ...steps(3, 'send')];
    for (let together = 0; together < 24; together += 1) {
      for (let alone = 0; alone < 12; alone += 1) {
        // From some point on, only one of the two is let through.
        const ahead = steps(loser === 'the first' ? 1 : 0, ...times(alone));
        const died = steps(0, 'take', 'run', 'die');
        const all = [...asked, ...steps(0, ...times(together)), ...ahead, ...died, ...steps(0, ...times(12))];
        expect([together, alone, await sendFailureOf(all)]).toEqual([together, alone, undefined]);
      }
    }
  },
);
