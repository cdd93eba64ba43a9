import { expect, test } from '@jest/globals';
import { allowedWait } from '../../src/core/model/caller.ts';
import type { ToolContext } from '../../src/core/tools/tool.ts';
import { Wait } from '../../src/core/tools/wait.ts';
import { keyBody } from '../../src/features/access/schema/key-schema.ts';
import { ANY_KEY } from '../support/any-key.ts';
import { FakeClock } from '../support/fake-clock.ts';

const key = { ...ANY_KEY, max_wait_s: 20 };

test('no wait is longer than the max_wait_s of its key', async () => {
  expect(allowedWait({ key }, 50)).toBe(20);
  expect(allowedWait({ key }, 5)).toBe(5);
  expect(allowedWait({ key: ANY_KEY }, 60)).toBe(50);
  expect(allowedWait({ key: undefined }, 60)).toBe(50);
  const clock = new FakeClock();
  const wait = new Wait(50, { caller: { key }, clock, signals: [], progress: () => {} } as unknown as ToolContext);
  await clock.advance(19_999);
  expect(wait.isOver).toBe(false);
  await clock.advance(1);
  expect(wait.isOver).toBe(true);
  wait.end();
});

test.each([-1, 51, 1.5, '20', null])('a key is made with a wait of %p', (max_wait_s) => {
  const { error } = keyBody.safeParse({ name: 'a', preset: 'reader', max_wait_s });
  expect(error?.issues.map(({ path, message }) => [path.join(), message])).toEqual([
    ['max_wait_s', '`max_wait_s` must be a whole number of seconds from 0 to 50.'],
  ]);
});
