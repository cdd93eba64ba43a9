import { expect, test } from '@jest/globals';
import { openLog } from '../../src/core/runtime/log.ts';
import { Shutdown } from '../../src/core/runtime/shutdown.ts';
import { FakeClock } from '../support/fake-clock.ts';

async function newEnding(): Promise<Shutdown> {
  const log = await openLog({ level: 'error', isTerminal: false, fd: 2 });
  return new Shutdown({ log, clock: new FakeClock(), isTerminal: false, supervised: false });
}

test('a service that wants to be started again ends with its code', async () => {
  const ending = await newEnding();
  ending.want(75);
  await ending.wanted;
  expect(ending.exitCode).toBe(75);
});

test('asked to stop while it is about to start again, it does not ask to be started', async () => {
  const ending = await newEnding();
  ending.want(75);
  ending.want(0);
  await ending.wanted;
  expect(ending.exitCode).toBe(0);
});
