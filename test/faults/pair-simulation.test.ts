import { afterAll, expect, test } from '@jest/globals';
import { Chance } from '../../src/features/simulator/chatter.ts';
import { PairFiles } from '../support/pair-hub.ts';
import { describedPair, drawPairSchedule, pairFailureOf, parsedPair, shrunkPair } from '../support/pair-simulation.ts';
import { newSeed, schedulesOfForm } from '../support/seed.ts';
import { temporaryFolder } from '../support/temporary.ts';

const SCHEDULES = schedulesOfForm(2000, 100_000);

const files = new PairFiles(temporaryFolder());
afterAll(() => files.close());

test(
  'whatever two Macs, two hubs and a broker that forgets do, a client gets each message of a pair, and a hub has it once',
  () => {
    const seed = newSeed('pair');
    for (let number = 0; number < SCHEDULES; number += 1) {
      const steps = drawPairSchedule(new Chance((seed + number) >>> 0));
      if (pairFailureOf(files, steps) === undefined) continue;
      const shortest = shrunkPair(steps, (some) => pairFailureOf(files, some) !== undefined);
      const failure = pairFailureOf(files, shortest);
      throw new Error(`SEED=${(seed + number) >>> 0}\n${describedPair(shortest)}\n${failure}`);
    }
    expect(SCHEDULES).toBeGreaterThan(0);
  },
  SCHEDULES * 100,
);

/** Schedules that failed once, as shrinking left them. */
test.each([
  [
    'a hub has events that a restored broker lost, and a client comes from a hub that never had them',
    'message 566 2, arrive 120 4, publish 974 0, message 568 6, arrive 413 0, copy 376 4, loseEnd 118 4, publish 325 7, copy 474 6, copy 819 7, read 104 1, forget 81 5, read 440 2',
  ],
  [
    'a client has the copy that another hub merged, and later events are of a new stream',
    'message 199 4, arrive 748 4, publish 410 0, copy 618 2, loseEnd 472 7, publish 201 0, copy 335 3, copy 98 4, read 758 1, forget 684 0, message 27 6, read 266 0',
  ],
  [
    'a client is past an event of a new stream, and comes to a hub with one that no Mac has published again yet',
    'message 956 7, arrive 682 2, publish 86 7, copy 792 1, message 823 1, forget 603 6, arrive 231 0, publish 885 3, message 429 3, copy 503 6, publish 215 5, read 245 5, copy 12 7, read 905 6',
  ],
  [
    'a restored broker gets the same message at the same place again, after one that only another hub has copied',
    'message 905 3, message 464 3, publish 282 6, hour 363 2, copy 2 6, loseEnd 555 3, publish 337 0, copy 869 4, read 796 7, read 133 2, loseEnd 355 5',
  ],
  [
    'a hub that has not noticed that the broker was restored gets a client that read the stream after that',
    'message 905 3, message 464 3, publish 282 6, hour 363 2, publish 949 6, copy 106 3, loseEnd 555 3, publish 337 0, copy 869 4, read 796 7, read 61 2',
  ],
  [
    'the same hub, and the broker then also loses the place that the client read',
    'message 905 3, message 464 3, publish 282 6, hour 363 2, publish 949 6, copy 106 3, loseEnd 555 3, publish 337 0, copy 869 4, read 796 7, loseEnd 355 5, read 61 2',
  ],
  [
    'a client of a lost stream comes to a new hub, whose changes begin after those that the client lacks',
    'message 425 0, publish 285 3, copy 429 0, forget 564 1, read 832 3, edit 309 3, newHub 109 1, publish 643 2, copy 423 0, loseEnd 538 7',
  ],
  [
    'a broker that is restored twice has one message again at a sequence where a client read another',
    'message 357 6, message 133 2, publish 950 0, copy 662 7, loseEnd 695 6, publish 539 0, copy 85 7, copy 690 2, read 148 7, loseEnd 376 6, publish 812 3, copy 20 1, read 31 2',
  ],
])('a schedule that failed: %s', (_name, steps) => {
  expect(pairFailureOf(files, parsedPair(steps))).toBeUndefined();
});
