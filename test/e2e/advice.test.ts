import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, expect, test } from '@jest/globals';
import { eventually } from '../support/eventually.ts';
import { MAIN, postern } from '../support/postern.ts';
import { BARE_ENVIRONMENT, temporaryFolder, whenFileEnds } from '../support/temporary.ts';

const folder = temporaryFolder();
const place = ['--config-dir', join(folder, 'demo')];
const env = { HOME: folder };
let output = '';

beforeAll(async () => {
  const demo = spawn(process.execPath, [MAIN, 'demo', '--dir', join(folder, 'demo'), '--port', '0', '--quiet'], {
    env: { ...BARE_ENVIRONMENT, ...env },
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  whenFileEnds(async () => {
    if (demo.exitCode !== null) return;
    demo.kill('SIGTERM');
    await once(demo, 'exit');
  });

  demo.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()));
  await eventually(() => expect(output).toContain('Ctrl+C'));
});

/** Runs a line pasted into a shell. */
async function pasted(line: string): Promise<string> {
  return (await promisify(execFile)('sh', ['-c', line], { env: { ...BARE_ENVIRONMENT, ...env } })).stdout;
}

test('the advice of doctor about a webhook names it, and runs as it is copied', async () => {
  const args = ['webhooks', 'add', 'http://127.0.0.1:9/hook', '--name', 'My receiver', '--paused', ...place];
  const added = await postern(args, { env });
  const advice = /To start deliveries: (.+)\n/.exec(added.stdout)?.[1] ?? '';
  const { stdout } = await postern(['doctor', ...place], { env });
  const [, command = ''] = /webhook My receiver: .*paused\. Continue with: (.+)\n/.exec(stdout) ?? [];
  expect(command).toBe(advice);
  expect(command).toMatch(/webhooks resume [0-9a-f]{8} --config-dir \S+$/);
  await pasted(command);
  // The demo's story goes on, and the webhook's receiver does not exist.
  expect(await pasted(command.replace('resume', 'show'))).toMatch(/^State +(?:healthy|failing)$/m);
});

test('a refusal names a command that runs as it is copied', async () => {
  const { exitCode, stderr } = await postern(['webhooks', 'show', 'nope', ...place], { env });
  expect(exitCode).toBe(65);
  const [, command = ''] = /^(.+ webhooks list --config-dir \S+) shows them\.$/m.exec(stderr) ?? [];
  expect(await pasted(command)).toContain('My receiver');
});

test('approvals on the command line name the person and the key, not numbers and ids alone', async () => {
  const added = await postern(['keys', 'add', 'Helper', '--preset', 'assistant', '--send', '+15550100', ...place], {
    env,
  });
  const key = /^postern_\S+$/m.exec(added.stdout)?.[0] ?? added.stdout.split('\n')[0] ?? '';
  const send = ['send', '+15550100', 'Is it today?', '--url', /"url":"([^"]+)"/.exec(output)?.[1] ?? ''];
  await postern(send, { env: { ...env, POSTERN_API_KEY: key } });
  const list = await postern(['approvals', 'list', ...place], { env });
  expect(list.stdout).toMatch(/Helper +Ana Silva \(\S*\+15550100\) +Is it today\?/);
  const [id = ''] = /[0-9a-f-]{36}/.exec(list.stdout) ?? [];
  const shown = await postern(['approvals', 'show', id, ...place], { env });
  expect(shown.stdout).toMatch(/^To: Ana Silva \(\S*\+15550100\)\n/);
  expect(shown.stdout).toContain('Requested by key Helper (');
});
