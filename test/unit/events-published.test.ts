import { expect, test } from '@jest/globals';
import { Channel } from '../../src/core/log/channel.ts';
import { Feed } from '../../src/core/log/feed.ts';
import { untilPublished } from '../../src/core/log/published.ts';
import { rowOffset } from '../../src/core/model/offset.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { collectingLog } from '../support/log.ts';
import { arrival, MemoryLog } from '../support/memory-log.ts';

function fixture() {
  const clock = new FakeClock();
  const channel = new Channel();
  const feed = new Feed({ channel, messages: new MemoryLog(), clock, log: collectingLog() });
  let isDone = false;
  const wait = async (rowId: number, publish: () => void): Promise<void> => {
    await untilPublished(rowId, { feed, clock, publish });
    isDone = true;
  };
  return { clock, channel, wait, isDone: () => isDone };
}

test('a row that is published is not waited for', async () => {
  const { clock, channel, wait } = fixture();
  channel.restart(rowOffset(7));
  await wait(7, () => expect(true).toBe(false));
  expect(clock.pending).toBe(0);
});

test('waiting for a row ends with its event, after those before it', async () => {
  const { clock, channel, wait, isDone } = fixture();
  const waiting = wait(2, () => channel.publish([arrival(1)]));
  await clock.advance(100);
  expect(isDone()).toBe(false);
  channel.publish([arrival(2)]);
  await waiting;
  expect(clock.pending).toBe(0);
});

test('a row is waited for 2.5 seconds at most', async () => {
  const { clock, wait, isDone } = fixture();
  const waiting = wait(1, () => undefined);
  await clock.advance(2499);
  expect(isDone()).toBe(false);
  await clock.advance(1);
  await waiting;
});
