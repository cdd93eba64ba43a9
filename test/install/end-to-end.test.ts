import { type SpawnSyncReturns, spawnSync } from 'node:child_process';
import { existsSync, lstatSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { SHARED_FILES } from '../../installer/shell-files.ts';
import { machFile } from '../support/mach-o.ts';
import { StandInMac } from '../support/stand-in-mac.ts';

const REPOSITORY = fileURLToPath(new URL('../..', import.meta.url));
const PRETEND = new URL('../support/mac-stand-ins/pretend-mac.mjs', import.meta.url).href;

let mac: StandInMac;
beforeAll(async () => {
  mac = await StandInMac.start("Zoë O'Neil");
  mac.keep('own-node', machFile());
  mac.keep('libraries', join(REPOSITORY, 'node_modules'));
  mkdirSync(mac.layout.support, { recursive: true });
  // The only preparation: a different port.
  const config = `[server]\nport = ${mac.port}\n[auth]\napi_key = "end-to-end"\n`;
  writeFileSync(mac.layout.config, config, { mode: 0o600 });
});
afterAll(() => mac.close());

const prefix = (): string => join(mac.folder, 'prefix');

/** Uses the existing build: other tests run it at the same time, and the suite refuses a stale one at its start. */
function make(target: string, isMac: boolean, ...options: string[]): SpawnSyncReturns<string> {
  return spawnSync('make', ['-o', 'dist/main.js', target, `ARGS=${options.join(' ')}`], {
    cwd: REPOSITORY,
    encoding: 'utf8',
    env: {
      ...mac.environment,
      POSTERN_PREFIX: prefix(),
      ...(isMac && { NODE_OPTIONS: `--import=${PRETEND}` }),
    },
  });
}

describe('from a checkout, with the real program', () => {
  test('make install refuses off macOS and points at make run', () => {
    const { status, stderr } = make('install', false);
    expect(status).not.toBe(0);
    expect(stderr).toContain('make run');
  });

  test('make install ends with an agent that answers', async () => {
    const { status, stdout, stderr } = make('install', true, '--no-wait');
    expect(`${stderr}${status === 0 ? '' : stdout}`).toBe('');
    expect(stdout).toContain('libraries load on Node');
    const health = await fetch(`http://127.0.0.1:${mac.port}/api/v1/health`);
    expect(await health.json()).toMatchObject({ status: 'ok', backend: { connected: false } });
  }, 180_000);

  test('the installed command runs the installed code', async () => {
    const shown = await mac.machine().run(mac.layout.command, ['--version']);
    expect(shown.stdout).toMatch(/^\d+\.\d+\.\d+/);
    const linked = await mac.machine().run(join(prefix(), 'bin/postern'), ['--version']);
    expect(linked.stdout).toBe(shown.stdout);
    // The targets of the links exist: the manual page, and a completion for each shell.
    for (const path of Object.keys(SHARED_FILES)) {
      expect(readFileSync(join(prefix(), path), 'utf8')).toContain('postern');
    }
  });

  test('make uninstall takes it away and keeps the configuration', async () => {
    expect(make('uninstall', true).status).toBe(0);
    await expect(fetch(`http://127.0.0.1:${mac.port}/api/v1/health`)).rejects.toThrow();
    expect(existsSync(mac.layout.app)).toBe(false);
    expect(readdirSync(mac.layout.support)).toEqual(expect.arrayContaining(['config.toml']));
    expect(existsSync(mac.layout.versions)).toBe(false);
    expect(lstatSync(join(prefix(), 'bin/postern'), { throwIfNoEntry: false })).toBeUndefined();
    expect(make('uninstall', true, '--purge').status).toBe(0);
    expect(existsSync(mac.layout.support)).toBe(false);
  });
});
