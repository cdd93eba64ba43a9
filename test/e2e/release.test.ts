import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { beforeAll, expect, test } from '@jest/globals';
import { eventually } from '../support/eventually.ts';
import { node22 } from '../support/node-22.ts';
import { temporaryFolder } from '../support/temporary.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { version: string };
const TARBALL = join(ROOT, `release/postern-${version}.tgz`);
const MAX_BYTES = 12 * 2 ** 20;

const root = temporaryFolder();
const prefix = join(root, 'prefix');
const postern = join(prefix, 'lib/node_modules/postern/project/dist/main.js');

beforeAll(() => {
  run(process.execPath, [join(ROOT, 'installer/packages/release.mjs')]);
  // Nothing but the file: no registry, no cache.
  run('npm', ['install', '--global', '--prefix', prefix, '--offline', '--cache', join(root, 'cache'), TARBALL]);
});

function run(program: string, args: readonly string[]): void {
  const { status, stderr } = spawnSync(program, args, { encoding: 'utf8', cwd: root });
  if (status !== 0) throw new Error(stderr);
}

test('the release is small', () => {
  expect(statSync(TARBALL).size).toBeLessThan(MAX_BYTES);
});

test('it puts postern on the path, and its manual page where man looks', () => {
  const { stdout } = spawnSync(join(prefix, 'bin/postern'), ['--version'], { encoding: 'utf8' });
  expect(stdout).toBe(`${version}\n`);
  expect(readFileSync(join(prefix, 'share/man/man1/postern.1'), 'utf8')).toContain('.TH POSTERN 1');
});

/** Node 20 takes the native library that is packed, Node 22 its own SQLite when that library is for another. */
const runtimes = [
  ['this Node', process.execPath, 'better-sqlite3'],
  ['Node 22', node22, 'node:sqlite'],
] as const;

test.each(runtimes)('the demo of the release serves its pages and events on %s', async (name, node, library) => {
  if (node === undefined) return;
  const folder = join(root, name.replace(' ', '-'));
  const demo = spawn(node, [postern, 'demo', '--dir', folder, '--port', '0'], {
    stdio: ['ignore', 'pipe', 'ignore'],
    env: { PATH: process.env.PATH ?? '', HOME: root },
  });
  let output = '';
  demo.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()));
  try {
    await eventually(() => expect(output).toContain(`"sqlite":"${library}"`));
    const url = /"url":"([^"]+)"/.exec(output)?.[1] ?? '';
    const { stdout: key } = spawnSync(node, [postern, 'config', 'key', '--config-dir', folder], { encoding: 'utf8' });
    const headers = { 'x-api-key': key.trim() };
    for (const page of ['console', 'docs', 'docs/swagger-ui-bundle.js', 'openapi.json']) {
      expect([page, (await fetch(`${url}/${page}`)).status]).toEqual([page, 200]);
    }
    const events = await fetch(`${url}/api/v1/events?after=0&wait=20`, { headers });
    expect(await events.json()).toEqual(
      expect.arrayContaining([expect.objectContaining({ type: 'message.received' })]),
    );
  } finally {
    demo.kill('SIGTERM');
    await once(demo, 'exit');
  }
});
