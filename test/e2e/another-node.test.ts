import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, copyFileSync, cpSync, existsSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from '@jest/globals';
import { NODE_PACKAGES } from '../../src/core/runtime/node-package.ts';
import { testIf } from '../support/conditions.ts';
import { eventually } from '../support/eventually.ts';
import { node22 } from '../support/node-22.ts';
import { temporaryFolder, whenFileEnds } from '../support/temporary.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const folder = temporaryFolder();
const pinned = NODE_PACKAGES[`${process.platform}-${process.arch}`];
const hasOwnSqlite = process.getBuiltinModule?.('node:sqlite') !== undefined;
const onOldNode = testIf(!hasOwnSqlite && node22 !== undefined, 'needs a Node without SQLite, and make test');

/** Copies the built program to a place from which no native module can be found. */
function main(): string {
  const copy = join(folder, 'program');
  if (!existsSync(copy)) {
    mkdirSync(copy);
    for (const part of ['dist', 'package.json']) cpSync(join(ROOT, part), join(copy, part), { recursive: true });
  }
  return join(copy, 'dist/main.js');
}

/** Returns the environment of a home whose cache holds the downloaded Node, as after the first start. */
function environment(): Record<string, string> {
  const env = { PATH: process.env.PATH ?? '', HOME: join(folder, 'home'), TMPDIR: folder };
  const kept = join(env.HOME, ...CACHE, `node-22.23.2-${process.platform}-${process.arch}`);
  if (!existsSync(kept)) {
    mkdirSync(kept, { recursive: true, mode: 0o700 });
    copyFileSync(node22 ?? 'missing', join(kept, 'node'));
    chmodSync(join(kept, 'node'), 0o700);
  }
  return env;
}
const CACHE = process.platform === 'darwin' ? ['Library/Caches/Postern'] : ['.cache/postern'];

class Demo {
  readonly process: ChildProcess;
  output = '';
  errors = '';

  constructor(name: string) {
    const args = [main(), 'demo', '--dir', join(folder, name), '--port', '0'];
    this.process = spawn(process.execPath, args, { env: environment(), stdio: ['ignore', 'pipe', 'pipe'] });
    this.process.stdout?.on('data', (chunk) => (this.output += String(chunk)));
    this.process.stderr?.on('data', (chunk) => (this.errors += String(chunk)));
    whenFileEnds(() => this.process.kill('SIGKILL'));
  }

  async url(): Promise<string> {
    await eventually(() => expect(this.output + this.errors).toContain('"serving"'));
    return /"url":"([^"]+)"/.exec(this.output)?.[1] ?? '';
  }
}

onOldNode('on a Node without SQLite the demo runs on the one kept from npm, and ends at a signal', async () => {
  const demo = new Demo('stopped');
  const url = await demo.url();
  expect(demo.output).toContain('"sqlite":"node:sqlite"');
  expect(await (await fetch(`${url}/api/v1/health`)).json()).toMatchObject({ status: 'ok' });
  // As in the README, without the path of that Node.
  expect(demo.output).toMatch(/^ {2}node \S+dist\/main\.js tail /m);
  const ended = once(demo.process, 'exit');
  demo.process.kill('SIGTERM');
  expect(await ended).toEqual([0, null]);
  expect(demo.errors).toBe('');
  await expect(fetch(`${url}/api/v1/health`)).rejects.toThrow();
});

onOldNode('a demo on the Node from npm does not outlive the process that started it', async () => {
  const demo = new Demo('killed');
  const url = await demo.url();
  demo.process.kill('SIGKILL');
  await eventually(async () => expect(await fetch(`${url}/api/v1/health`).catch(() => 'gone')).toBe('gone'));
  // The simulated Messages has ended too.
  await eventually(() => expect(demo.output).toContain('"stopped"'));
});

onOldNode('without npm it names the reason and what to install', () => {
  const env = { ...environment(), HOME: join(folder, 'other-home'), PATH: join(folder, 'nothing') };
  const args = [main(), 'demo', '--dir', join(folder, 'none')];
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8', env });
  expect([status, stdout]).toEqual([78, '']);
  expect(stderr).toContain('Downloading Node 22.23.2 for Postern, once');
  expect(stderr).toContain('Node 22.23.2 cannot be used instead: npm pack node-');
  expect(stderr).toContain('the program is missing.');
  expect(stderr).toContain('Install Node 22.16 or newer.');
  expect(existsSync(join(folder, 'none'))).toBe(false);
});

test('the listed packages are those that the tests install', () => {
  const lock = readFileSync(join(ROOT, 'test/support/programs/package-lock.json'), 'utf8');
  const { packages } = JSON.parse(lock) as { packages: Record<string, { version?: string; integrity?: string }> };
  for (const { name, version, integrity } of Object.values(NODE_PACKAGES)) {
    const { version: installed, integrity: locked } = packages[`node_modules/${name}`] ?? {};
    expect([name, version, integrity]).toEqual([name, installed, locked]);
  }
  expect(pinned).toBeDefined();
});
