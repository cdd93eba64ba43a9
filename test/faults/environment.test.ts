import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { networkInterfaces } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, describe, expect, test } from '@jest/globals';
import { isLong, testIf } from '../support/conditions.ts';
import { eventually } from '../support/eventually.ts';
import { MAIN, postern } from '../support/postern.ts';
import { Receiver } from '../support/receiver.ts';
import { seededChance } from '../support/seed.ts';
import { KEY } from '../support/service.ts';
import { BARE_ENVIRONMENT, temporaryFolder } from '../support/temporary.ts';
import { Harness, rowsOf, wait } from './harness.ts';

const KILLS = isLong ? 200 : 3;
/** Each round reads 20 lists of 1.6 MB. */
const ROUNDS = isLong ? 50 : 3;
/** Longer than a start takes on an idle machine. */
const START_MS = 300;

const chance = seededChance('moments of the kills at the start');
let harness: Harness;
afterEach(() => harness?.end());

test(`killed at ${KILLS} moments of its start: the next start has every webhook at its offset`, async () => {
  harness = new Harness();
  const service = await harness.start();
  const receiver = await Receiver.start();
  await harness.webhook(receiver);
  const rows: number[] = [];
  for (let kill = 0; kill < KILLS; kill += 1) {
    await service.stop('SIGKILL');
    rows.push(harness.database.message({ chat: 1, text: `row ${kill}`, handle_id: 1 }));
    const child = spawn(process.execPath, [MAIN, 'serve', '--config-dir', service.configFolder], {
      stdio: 'ignore',
      env: { ...BARE_ENVIRONMENT, HOME: service.folder },
    });
    await wait(chance.next() * START_MS);
    const ended = once(child, 'exit');
    child.kill('SIGKILL');
    await ended;
  }
  await service.launch();
  await eventually(() => expect([...new Set(rowsOf(receiver))]).toEqual(rows));
});

test('200 replays of one webhook at once: it continues in order, and every row arrives after the last of them', async () => {
  harness = new Harness();
  const service = await harness.start();
  const receiver = await Receiver.start();
  const id = await harness.webhook(receiver);
  const first = harness.newestRow();
  const rows = Array.from({ length: 100 }, (_, at) =>
    harness.database.message({ chat: 1, text: `row ${at}`, handle_id: 1 }),
  );
  await eventually(() => expect(receiver.deliveries.length).toBe(100));
  const answers = await Promise.all(
    Array.from({ length: 200 }, () => service.post(`/webhooks/${id}/replay`, { after: first })),
  );
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([202]));
  await eventually(() => expect(rowsOf(receiver).slice(-100)).toEqual(rows));
  expect((await service.get('/health')).status).toBe(200);
});

test(`with 48 MiB for all of its objects it answers ${20 * ROUNDS} large lists`, async () => {
  harness = new Harness();
  for (let row = 0; row < 200; row += 1) harness.database.message({ chat: 1, text: 'x'.repeat(8000), handle_id: 1 });
  const service = await harness.start({ env: { NODE_OPTIONS: '--max-old-space-size=48' } });
  for (let round = 0; round < ROUNDS; round += 1) {
    const answers = await Promise.all(Array.from({ length: 20 }, () => service.get('/messages?limit=200')));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
  }
});

describe('an address to listen on', () => {
  const hasIpv6 = Object.values(networkInterfaces()).some((all) => all?.some(({ address }) => address === '::1'));

  async function isReached(host: string, addresses: readonly string[]): Promise<void> {
    harness = new Harness();
    // Service.start asks 127.0.0.1, which a service on ::1 does not answer.
    const service = await harness.start();
    await service.stop();
    service.configure({ server: { host } });
    const child = spawn(process.execPath, [MAIN, 'serve', '--config-dir', service.configFolder], {
      stdio: 'ignore',
      env: { ...BARE_ENVIRONMENT, HOME: service.folder },
    });
    try {
      for (const address of addresses) {
        const url = `http://${address}:${service.port}/api/v1/conversations`;
        await eventually(async () => expect((await fetch(url, { headers: { 'x-api-key': KEY } })).status).toBe(200));
        expect((await fetch(url)).status).toBe(401);
      }
      if (host === '127.0.0.1') await expect(fetch(`http://127.0.0.2:${service.port}/`)).rejects.toThrow();
    } finally {
      const ended = once(child, 'exit');
      child.kill('SIGTERM');
      await ended;
    }
  }

  test.each([
    ['0.0.0.0', ['127.0.0.1', '127.0.0.2']],
    ['127.0.0.1', ['127.0.0.1']],
  ] as const)('%s is reached where it should be', isReached);

  for (const [host, addresses] of [
    ['::1', ['[::1]']],
    ['::', ['[::1]', '127.0.0.1']],
  ] as const) {
    testIf(hasIpv6, 'needs IPv6')(`${host} is reached where it should be`, () => isReached(host, addresses));
  }
});

describe('a configuration folder on a read-only disk', () => {
  // Runs before the folder is removed, which a mounted disk would prevent.
  afterAll(() => void (isMounted && spawnSync('umount', [disk])));
  const root = temporaryFolder();
  const disk = join(root, 'disk');
  mkdirSync(disk, { mode: 0o700 });
  const isMounted = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=1m,mode=700', 'tmpfs', disk]).status === 0;

  testIf(isMounted, 'needs the right to mount a disk')('ends the start with 78 and a sentence', async () => {
    const config = `[server]\nport = 0\n[auth]\napi_key = "${KEY}"\n[backend]\nchat_db_path = "${root}/chat.db"\n`;
    writeFileSync(join(disk, 'config.toml'), config, { mode: 0o600 });
    spawnSync('mount', ['-o', 'remount,ro', disk]);
    const { exitCode, stdout, stderr } = await postern(['serve', '--config-dir', disk]);
    expect(exitCode).toBe(78);
    expect(stdout + stderr).toMatch(/lock\.db cannot be used/);
    expect(stdout + stderr).not.toMatch(/\n\s+at /);
  });
});
