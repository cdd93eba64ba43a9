import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, expect } from '@jest/globals';
import { testIf } from '../support/conditions.ts';
import { eventually } from '../support/eventually.ts';
import { MAIN, postern } from '../support/postern.ts';
import { BARE_ENVIRONMENT, temporaryFolder } from '../support/temporary.ts';

const home = temporaryFolder();
const config = join(home, 'config');
const record = join(home, '.cache/postern/update.json');
const env = { ...BARE_ENVIRONMENT, HOME: home, SHELL: '/bin/sh', XDG_CACHE_HOME: '' };
let asked = 0;
const server = createServer((_request, response) => {
  asked += 1;
  response.end('{"version": "99.1.0", "url": "https://example.net/postern\\u001b[2J"}');
});

beforeAll(async () => {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  mkdirSync(config, { mode: 0o700 });
  configure(`http://127.0.0.1:${(server.address() as AddressInfo).port}/latest.json`);
});
afterAll(() => void server.close());

function configure(url: string): void {
  const text = `[auth]\napi_key = "a-key-for-all-the-tests"\n[update]\nurl = "${url}"\n`;
  writeFileSync(join(config, 'config.toml'), text, { mode: 0o600 });
}

/** Returns what a command prints on a terminal, including stderr. */
async function onTerminal(...args: readonly string[]): Promise<string> {
  const words = [process.execPath, MAIN, ...args, '--config-dir', config].map((word) => `'${word}'`).join(' ');
  const terminal = spawn('script', ['-qec', words, '/dev/null'], { env, stdio: ['ignore', 'pipe', 'ignore'] });
  let shown = '';
  terminal.stdout.on('data', (chunk: Buffer) => (shown += chunk.toString()));
  await once(terminal, 'close');
  return shown;
}

const hasScript = spawnSync('script', ['--version'], { encoding: 'utf8' }).stdout?.includes('util-linux') ?? false;

testIf(hasScript, 'needs script of util-linux')(
  'a newer release is told once a day on a terminal, and nowhere else',
  async () => {
    for (const json of [[], ['--json']]) await postern(['config', 'check', ...json, '--config-dir', config], { env });
    await onTerminal('config', 'check', '--json');
    expect(existsSync(record)).toBe(false);

    // The command that starts the request does not wait for its answer.
    expect(await onTerminal('config', 'check')).not.toContain('available');
    await eventually(() => expect(readFileSync(record, 'utf8')).toContain('99.1.0'));
    const { stdout, stderr } = await postern(['config', 'check', '--config-dir', config], { env });
    expect(stdout + stderr).not.toContain('available');
    const told = await onTerminal('config', 'check');
    expect(told).toContain('Postern 99.1.0 is available; this is 0.1.0. https://example.net/postern');
    expect(told).not.toContain('\x1b[2J');
    expect(await onTerminal('config', 'check')).not.toContain('available');
    expect(asked).toBe(1);

    const yesterday = JSON.parse(readFileSync(record, 'utf8')) as Readonly<Record<string, unknown>>;
    writeFileSync(record, JSON.stringify({ ...yesterday, notifiedAt: 1 }));
    expect(await onTerminal('config', 'check')).toContain('99.1.0');

    configure('');
    expect(await onTerminal('config', 'check')).not.toContain('available');
    expect(asked).toBe(1);
  },
);
