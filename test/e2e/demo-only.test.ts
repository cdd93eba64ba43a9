import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { waitFor } from '../support/eventually.ts';
import { postern, type Running, startPostern } from '../support/postern.ts';
import { freePort } from '../support/service.ts';
import { temporaryFolder } from '../support/temporary.ts';

const home = temporaryFolder();
const env = { HOME: home };
let port = 0;
let demo: Running;

beforeAll(async () => {
  port = await freePort();
  // This user also has a configuration, but its service is not running.
  await postern(['serve'], { env });
  const config = join(home, '.config/postern/config.toml');
  const text = readFileSync(config, 'utf8').replace(/^port = .*\n/m, '');
  writeFileSync(config, text.replace(/^\[server\]$/m, `[server]\nport = ${port}`));
  demo = startPostern(['demo', '--port', String(port)], { env });
  await waitFor(() => {
    if (demo.child.exitCode !== null) throw new Error(demo.stderr);
    return demo.stdout.includes('Ctrl+C');
  });
});
afterAll(async () => {
  demo.child.kill('SIGTERM');
  await demo.ended;
});

test('a command without --demo while only a demo runs says what to add', async () => {
  for (const command of [['status'], ['webhooks'], ['messages']]) {
    const { exitCode, stderr } = await postern(command, { env });
    expect([exitCode, stderr]).toEqual([69, expect.stringContaining('For the demo, add --demo to the command.')]);
  }
  const named = await postern(['status', '--config-dir', join(home, '.config/postern')], { env });
  expect(named.stderr).not.toContain('add --demo');
});

test('doctor does not advise to stop the demo', async () => {
  const { stdout } = await postern(['doctor'], { env });
  expect(stdout).toContain(`Port ${port} is taken by`);
  expect(stdout.replace(/\s+/g, ' ')).toContain('postern doctor --demo examines it');
  expect(stdout).not.toContain('Stop it');
});

test('a port that the demo has taken is not taken by another program', async () => {
  const { exitCode, stderr } = await postern(['serve'], { env });
  expect(exitCode).toBe(69);
  expect(stderr).toContain('is taken by another Postern.\n');
  expect(stderr).toContain('A demo is running on this machine.');
});
