import { expect, test } from '@jest/globals';
import { Chance } from '../../src/features/simulator/chatter.ts';
import { described, drawSchedule, type Schedule, type StepName, shrink } from '../support/changes/schedule.ts';
import { failureOf } from '../support/changes/simulation.ts';
import { isLong } from '../support/conditions.ts';
import { newSeed } from '../support/seed.ts';

const SCHEDULES = isLong ? 100_000 : 200;

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
  SCHEDULES * 600,
);

/** Schedules that failed once, as shrinking left them: `name which size`, and what happens before a write in it. */
const FAILED: readonly (Omit<Schedule, 'steps'> & { readonly what: string; readonly steps: string })[] = [
  {
    what: 'chat.db is replaced while rows of it are published',
    kept: 4,
    lateByMs: 30,
    clients: ['live', 'live', 'live'],
    steps: 'connect .44 2,insert .03 7,insert .84 1,notice .58 1,replace .08 8,takeAll .46 0,read .66 2,wait .19 5',
  },
  {
    what: 'a reader is behind the kept changes, and has rows of a list',
    kept: 4,
    lateByMs: 1500,
    clients: ['page', 'live', 'resume'],
    steps: `fill .16 2,connect .49 2,wait .29 5,insert .85 7,insert .06 2,fill .23 2,complete .71 2,insertOwn .03 7,insert .79 9,
      insert .70 4,wait .06 7,take .39 9,down .43 8,connect .32 4,wait .54 6 remove .71`,
  },
];

test.each(FAILED)(
  'a reader ends with what chat.db holds in a schedule that once failed: $what',
  async ({ steps, ...schedule }) => {
    const parsed = steps.split(',').map((step) => {
      const [name, which, size, during, duringWhich] = step.trim().split(' ');
      const at = { do: name as StepName, which: Number(which), size: Number(size) };
      if (during !== 'remove') return at;
      return { ...at, during: { call: 1, isWrite: true, do: during, which: Number(duringWhich) } as const };
    });
    expect(await failureOf({ ...schedule, steps: parsed })).toBeUndefined();
  },
);
