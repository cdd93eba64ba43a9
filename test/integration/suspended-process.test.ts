import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { expect, test } from '@jest/globals';
import { eventually, waitFor } from '../support/eventually.ts';

const PROGRAM = fileURLToPath(new URL('../support/suspended.mjs', import.meta.url));
const STOPPED_MS = 1500;

/** A stopped process is like a sleeping Mac: its monotonic clock kept running (libuv pull request 2894). */
test('a limit of a process that was stopped has its time when it continues', async () => {
  const child = spawn(process.execPath, [PROGRAM], { stdio: ['ignore', 'pipe', 'inherit'] });
  const printed = once(createInterface({ input: child.stdout }), 'line');
  await waitFor(() =>
    spawnSync('ps', ['-o', 'stat=', '-p', `${child.pid}`], { encoding: 'utf8' }).stdout.startsWith('T'),
  );
  const stoppedAtMs = performance.now();
  await eventually(() => expect(performance.now() - stoppedAtMs).toBeGreaterThan(STOPPED_MS));
  child.kill('SIGCONT');
  const { awake, passed } = JSON.parse(String((await printed)[0])) as { awake: number; passed: number };
  // The limit of 300 ms expired after the stop, which did not count.
  expect(passed).toBeGreaterThan(STOPPED_MS);
  expect(awake).toBeGreaterThanOrEqual(299);
  expect(passed - awake).toBeGreaterThan(STOPPED_MS - 200);
});
