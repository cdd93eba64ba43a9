import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { installCode } from '../../installer/code.ts';
import { layoutOf } from '../../installer/install-layout.ts';
import type { Machine } from '../../installer/machine.ts';
import { systemClock } from '../../src/core/runtime/clock.ts';
import { commandRunner } from '../../src/core/runtime/command.ts';
import { testIf } from '../support/conditions.ts';
import { temporaryFolder } from '../support/temporary.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const NODE_PREFIX = dirname(dirname(process.execPath));
const canBuild =
  existsSync(join(NODE_PREFIX, 'include/node/node_api.h')) && spawnSync('make', ['--version']).status === 0;
/** Without the headers of this Node, node-gyp would download them. */
const whereItBuilds = testIf(canBuild || process.env.CI !== undefined, 'needs make and the headers of Node');

const folder = temporaryFolder();

/** Finds its headers in the same way as node-mac-permissions 2.5.0 finds those of node-addon-api. */
const ADDON: Readonly<Record<string, string>> = {
  'package.json': '{ "name": "ten-lines", "version": "1.0.0", "scripts": { "install": "node-gyp rebuild" } }',
  'binding.gyp': `{ "targets": [{ "target_name": "ten", "sources": ["ten.c"],
    "include_dirs": ["<!@(node -p \\"require('./headers').include\\")"] }] }`,
  'headers/index.js': `exports.include = '"' + __dirname + '"';`,
  'headers/ten.h': '#define TEN 10',
  'ten.c': `#include <node_api.h>
    #include "ten.h"
    NAPI_MODULE_INIT() {
      napi_value value;
      napi_create_int32(env, TEN, &value);
      return value;
    }`,
};
const LOAD = `import { createRequire } from 'node:module';
  console.log('the addon says', createRequire(import.meta.url)('ten-lines/build/Release/ten.node'));`;

let registry: Server;
let registryUrl: string;

beforeAll(async () => {
  write(join(folder, 'package'), ADDON);
  const archive = join(folder, 'ten-lines.tgz');
  spawnSync('tar', ['-czf', archive, '-C', folder, 'package']);
  const content = readFileSync(archive);
  const integrity = `sha512-${createHash('sha512').update(content).digest('base64')}`;
  registry = createServer((request, response) => {
    if (request.url?.endsWith('.tgz') === true) {
      response.end(content);
      return;
    }
    const version = {
      ...(JSON.parse(ADDON['package.json'] ?? '') as object),
      hasInstallScript: true,
      dist: { tarball: `${registryUrl}ten-lines/-/ten-lines-1.0.0.tgz`, integrity },
    };
    const description = { name: 'ten-lines', 'dist-tags': { latest: '1.0.0' }, versions: { '1.0.0': version } };
    response.setHeader('content-type', 'application/json').end(JSON.stringify(description));
  });
  await new Promise<void>((resolve) => registry.listen(0, '127.0.0.1', resolve));
  registryUrl = `http://127.0.0.1:${(registry.address() as AddressInfo).port}/`;
});
afterAll(() => void registry.close());

function write(into: string, files: Readonly<Record<string, string>>): void {
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(dirname(join(into, name)), { recursive: true });
    writeFileSync(join(into, name), content);
  }
}

function environment(): Readonly<Record<string, string>> {
  return {
    PATH: [join(folder, 'programs'), dirname(process.execPath), '/usr/bin', '/bin'].join(':'),
    HOME: join(folder, 'nobody'),
    TMPDIR: folder,
    npm_config_cache: join(folder, 'npm-cache'),
    npm_config_nodedir: NODE_PREFIX,
  };
}

/** Creates a project whose only library is the addon, and whose proof is that the addon loads. */
async function project(): Promise<string> {
  const root = mkdtempSync(join(folder, 'project-'));
  write(root, {
    'package.json': JSON.stringify({
      name: 'postern',
      version: '0.1.0',
      type: 'module',
      optionalDependencies: { 'ten-lines': '1.0.0' },
      allowScripts: { 'ten-lines': true },
    }),
    '.npmrc': `registry=${registryUrl}\n`,
    'dist/installer/proof.js': LOAD,
    'launchd/local.postern.agent.plist': '',
    'installer/menubar/postern.30s.sh': '',
  });
  await npm(root, ['install', '--package-lock-only', '--ignore-scripts']);
  return root;
}

async function npm(cwd: string, args: readonly string[]): Promise<void> {
  const { code, stderr } = await commandRunner(environment())('npm', [...args, '--no-audit', '--no-fund'], {
    cwd,
    timeoutMs: 60_000,
  });
  if (code !== 0) throw new Error(stderr);
}

interface Outcome {
  readonly said: readonly string[];
  readonly modules: string;
}

async function installed(changes: Partial<Machine> = {}): Promise<Outcome> {
  const home = mkdtempSync(join(folder, 'home-'));
  const layout = layoutOf(home);
  mkdirSync(dirname(layout.executable), { recursive: true });
  symlinkSync(process.execPath, layout.executable);
  mkdirSync(layout.versions, { recursive: true });
  write(join(folder, 'programs'), { 'xcode-select': '#!/bin/sh\nexit 0\n' });
  spawnSync('chmod', ['+x', join(folder, 'programs/xcode-select')]);
  const said: string[] = [];
  const machine: Machine = {
    platform: 'darwin',
    arch: process.arch,
    uid: 501,
    home,
    temporaryFolder: folder,
    execPath: process.execPath,
    path: [dirname(process.execPath), '/usr/bin', '/bin'],
    usersFolder: join(home, '..'),
    prefixes: [join(home, '.local')],
    run: commandRunner(environment()),
    clock: systemClock,
    stdout: (line) => void said.push(line),
    ...changes,
  };
  const id = await installCode(machine, layout, await project(), '0.1.0');
  return { said, modules: join(layout.versions, id, 'node_modules') };
}

const otherVolume = ['/dev/shm', '/tmp'].find(
  (path) => existsSync(path) && statSync(path).dev !== statSync(folder).dev,
);

describe('a native library', () => {
  whereItBuilds('cannot be built below a folder with a space in its name, by npm alone', async () => {
    const root = await project();
    const spaced = join(folder, 'Application Support');
    mkdirSync(spaced, { recursive: true });
    for (const file of ['package.json', 'package-lock.json', '.npmrc']) {
      writeFileSync(join(spaced, file), readFileSync(join(root, file)));
    }
    await npm(spaced, ['ci']);
    expect(existsSync(join(spaced, 'node_modules/ten-lines/build/Release/ten.node'))).toBe(false);
  });

  whereItBuilds('is built by the installer although the agent is below Application Support', async () => {
    const { said, modules } = await installed();
    expect(modules).toContain('/Application Support/');
    expect(said).toEqual([expect.stringContaining('built from source'), '  the addon says 10']);
    expect(existsSync(join(modules, 'ten-lines/build/Release/ten.node'))).toBe(true);
    expect(readdirSync(folder).filter((name) => name.startsWith('postern-libraries-'))).toEqual([]);
  });

  whereItBuilds('is built where the temporary folder has a space, too', async () => {
    const temporary = join(folder, 'temporary folder');
    mkdirSync(temporary, { recursive: true });
    const { said } = await installed({ temporaryFolder: temporary });
    expect(said).toContain('  the addon says 10');
  });

  (otherVolume === undefined ? testIf(false, 'needs another volume') : whereItBuilds)(
    'is copied from a temporary folder on another volume',
    async () => {
      const temporary = mkdtempSync(join(otherVolume ?? '', 'postern-test-'));
      try {
        const { said } = await installed({ temporaryFolder: temporary });
        expect(said).toContain('  the addon says 10');
        expect(readdirSync(temporary)).toEqual([]);
      } finally {
        rmSync(temporary, { recursive: true });
      }
    },
  );

  test('is never downloaded ready-made: the setting that the installer passes forbids it', () => {
    const { status, stderr } = spawnSync(process.execPath, [join(ROOT, 'node_modules/prebuild-install/bin.js')], {
      cwd: join(ROOT, 'node_modules/better-sqlite3'),
      encoding: 'utf8',
      env: { npm_config_build_from_source: 'true', npm_config_loglevel: 'info' },
    });
    expect(stderr).toContain('--build-from-source specified, not attempting download.');
    expect(status).not.toBe(0);
  });
});
