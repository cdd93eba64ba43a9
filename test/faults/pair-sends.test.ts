import { expect, test } from '@jest/globals';
import { Chance } from '../../src/simulator/chatter.ts';
import { isLong } from '../support/conditions.ts';
import { describedSends, drawSendSchedule, sendFailureOf } from '../support/pair-sends.ts';
import { newSeed } from '../support/seed.ts';

const SCHEDULES = isLong ? 20_000 : 300;

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
