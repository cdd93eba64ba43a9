import { expect, test } from '@jest/globals';
import { Chance } from '../../src/simulator/chatter.ts';
import { described, drawSchedule, shrink } from '../support/changes/schedule.ts';
import { failureOf } from '../support/changes/simulation.ts';
import { newSeed } from '../support/seed.ts';

const SCHEDULES = process.env.FAULTS === 'long' ? 100_000 : 2000;

test(
  'whatever happens between any two steps, a reader with changes ends with what chat.db holds',
  async () => {
    const seed = newSeed('changes');
    for (let number = 0; number < SCHEDULES; number += 1) {
      const schedule = drawSchedule(new Chance((seed + number) >>> 0));
      if ((await failureOf(schedule)) === undefined) continue;
      const shortest = await shrink(schedule, failureOf);
      const failure = await failureOf(shortest);
      throw new Error(`SEED=${(seed + number) >>> 0}\n${described(shortest)}\n${failure}`);
    }
    expect(SCHEDULES).toBeGreaterThan(0);
  },
  SCHEDULES * 60,
);
