import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { systemClock } from '../../src/core/runtime/clock.ts';
import { commandRunner } from '../../src/core/runtime/command.ts';
import { downloadedNode } from '../../src/core/runtime/downloaded-node.ts';
import { integrityOf, type VerifiedNodePackage } from '../../src/core/runtime/node-package.ts';
import { temporaryFolder } from '../support/temporary.ts';

const PROGRAM = '#!/bin/sh\necho a Node\n';

/** A machine whose npm has one package, with this program and a script that must not run. */
class Machine {
  readonly folder = mkdtempSync(join(temporaryFolder(), 'machine-'));
  readonly cache = join(this.folder, 'cache');
  readonly node = join(this.cache, 'node-22.23.2-test-x64', 'node');
  readonly pinned: VerifiedNodePackage;
  downloads = 0;

  constructor() {
    const content = join(this.folder, 'package');
    mkdirSync(join(content, 'bin'), { recursive: true });
    writeFileSync(join(content, 'bin/node'), PROGRAM);
    const scripts = { preinstall: `touch ${this.folder}/script-ran`, install: `touch ${this.folder}/script-ran` };
    writeFileSync(
      join(content, 'package.json'),
      JSON.stringify({ name: 'node-test-x64', version: '22.23.2', scripts }),
    );
    const archive = join(this.folder, 'package.tgz');
    spawnSync('tar', ['-czf', archive, '-C', this.folder, 'package']);
    this.pinned = {
      name: 'node-test-x64',
      version: '22.23.2',
      integrity: integrityOf(archive),
      executable: integrityOf(join(content, 'bin/node')),
    };
    mkdirSync(join(this.folder, 'bin'));
    this.npm(`echo "$@" >> '${this.folder}/asked'\ncp '${archive}' "$5/node-test-x64-22.23.2.tgz"`);
  }

  npm(script: string): void {
    writeFileSync(join(this.folder, 'bin/npm'), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  }

  obtain(pinned = this.pinned): Promise<string> {
    const PATH = `${this.folder}/bin:${process.env.PATH ?? ''}`;
    return downloadedNode({
      pinned,
      cacheFolder: this.cache,
      run: commandRunner({ PATH }),
      clock: systemClock,
      onDownload: () => (this.downloads += 1),
    });
  }
}

test('a Node that was fetched once is not fetched again, and nobody else can read or change it', async () => {
  const machine = new Machine();
  expect(await machine.obtain()).toBe(machine.node);
  expect(await machine.obtain()).toBe(machine.node);
  expect(machine.downloads).toBe(1);
  expect(readFileSync(join(machine.folder, 'asked'), 'utf8')).toMatch(/^pack node-test-x64@22\.23\.2 [^\n]+\n$/);
  for (const path of [machine.cache, join(machine.node, '..'), machine.node]) {
    expect([path, statSync(path).mode & 0o777]).toEqual([path, 0o700]);
  }
  expect(readdirSync(machine.cache)).toEqual(['node-22.23.2-test-x64']);
  expect(spawnSync(machine.node, { encoding: 'utf8' }).stdout).toBe('a Node\n');
  expect(existsSync(join(machine.folder, 'script-ran'))).toBe(false);
});

test.each<[change: string, alter: (machine: Machine) => void]>([
  ['altered', ({ node }) => writeFileSync(node, '#!/bin/sh\necho something else\n')],
  ['open to other users', ({ node }) => chmodSync(node, 0o777)],
  ['in a folder open to other users', ({ node }) => chmodSync(join(node, '..'), 0o770)],
])('a kept Node that is %s is never run', async (_change, alter) => {
  const machine = new Machine();
  await machine.obtain();
  alter(machine);
  expect(await machine.obtain()).toBe(machine.node);
  expect(machine.downloads).toBe(2);
  expect(readFileSync(machine.node, 'utf8')).toBe(PROGRAM);
  expect(statSync(join(machine.node, '..')).mode & 0o777).toBe(0o700);
});

test('a link in the place of the kept Node is not followed', async () => {
  const machine = new Machine();
  const elsewhere = join(machine.folder, 'elsewhere');
  mkdirSync(elsewhere, { mode: 0o700 });
  writeFileSync(join(elsewhere, 'node'), PROGRAM, { mode: 0o700 });
  mkdirSync(machine.cache);
  symlinkSync(elsewhere, join(machine.node, '..'));
  await machine.obtain();
  expect(machine.downloads).toBe(1);
  expect(readFileSync(join(elsewhere, 'node'), 'utf8')).toBe(PROGRAM);
});

test('a package other than the listed one is refused, and leaves nothing behind', async () => {
  const machine = new Machine();
  machine.npm(`echo altered > "$5/node-test-x64-22.23.2.tgz"`);
  await expect(machine.obtain()).rejects.toMatchObject({ code: 'package_altered' });
  expect(readdirSync(machine.cache)).toEqual([]);
});

test('a package whose program is not the listed one is refused', async () => {
  const machine = new Machine();
  const pinned = { ...machine.pinned, executable: machine.pinned.integrity };
  await expect(machine.obtain(pinned)).rejects.toMatchObject({ code: 'node_not_fetched' });
});

test.each([
  [
    'without a network',
    'echo "npm error code ENOTFOUND" >&2; exit 1',
    'npm pack node-test-x64@22.23.2: npm error code ENOTFOUND.',
  ],
  ['when npm gives nothing', 'exit 0', 'npm pack node-test-x64@22.23.2: it ended with 0.'],
])('%s the reason is named, and nothing stays', async (_when, script, message) => {
  const machine = new Machine();
  machine.npm(script);
  await expect(machine.obtain()).rejects.toMatchObject({ code: 'node_not_fetched', message });
  expect(readdirSync(machine.cache)).toEqual([]);
});

test('other versions and interrupted downloads do not fill the cache, and a running download is left alone', async () => {
  const machine = new Machine();
  for (const name of ['node-22.20.0-test-x64', '.node-interrupted', '.node-running', 'other']) {
    mkdirSync(join(machine.cache, name), { recursive: true });
  }
  const longAgo = new Date(Date.now() - 2 * 60 * 60_000);
  utimesSync(join(machine.cache, '.node-interrupted'), longAgo, longAgo);
  await machine.obtain();
  expect(readdirSync(machine.cache).sort()).toEqual(['.node-running', 'node-22.23.2-test-x64', 'other']);
});

test('two downloads at once end with one sound Node', async () => {
  const machine = new Machine();
  expect(await Promise.all([machine.obtain(), machine.obtain()])).toEqual([machine.node, machine.node]);
  expect(readdirSync(machine.cache)).toEqual(['node-22.23.2-test-x64']);
});

test('a cache folder in which others may exchange the Node is taken from them', async () => {
  const machine = new Machine();
  await machine.obtain();
  chmodSync(machine.cache, 0o777);
  await machine.obtain();
  expect(statSync(machine.cache).mode & 0o777).toBe(0o700);
});

test.each([false, true])(
  'in the cache folder of another user no Node is run nor fetched (kept before: %s)',
  async (isKept) => {
    const machine = new Machine();
    if (isKept) await machine.obtain();
    const { getuid } = process;
    process.getuid = () => 4711;
    try {
      await expect(machine.obtain()).rejects.toMatchObject({ message: `${machine.cache} belongs to another user.` });
    } finally {
      if (getuid !== undefined) process.getuid = getuid;
    }
    expect(machine.downloads).toBe(isKept ? 1 : 0);
  },
);
