// Runs the built service on a database, in its own process.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { get } from 'node:http';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export const KEY = 'a-key-for-the-bench';
const PROGRAM = new URL('../dist/main.js', import.meta.url).pathname;

/** Starts the service. Resolves when it is healthy. `nodeArguments` precede the program. */
export async function startService(
  path,
  { nodeArguments = [], settings = '', osascriptPath = '/usr/bin/false', command = 'serve' } = {},
) {
  const folder = mkdtempSync(join(tmpdir(), 'postern-bench-'));
  const config = join(folder, 'config');
  mkdirSync(config, { mode: 0o700 });
  const port = await freePort();
  writeFileSync(
    join(config, 'config.toml'),
    `[server]\nport = ${port}\nrate_limit_per_minute = 1000000000\n[auth]\napi_key = "${KEY}"\n[backend]\nchat_db_path = "${path}"\nosascript_path = "${osascriptPath}"\n${settings}`,
    { mode: 0o600 },
  );
  const startedAt = performance.now();
  const child = spawn(process.execPath, [...nodeArguments, PROGRAM, command, '--config-dir', config], {
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    env: { PATH: process.env.PATH, HOME: folder },
  });
  while (!(await isHealthy(port))) {
    if (child.exitCode !== null || performance.now() > startedAt + 15_000) throw new Error('the service did not start');
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
  const startedWithinMs = performance.now() - startedAt;
  return {
    port,
    startedWithinMs,
    pid: child.pid,
    folder,
    child,
    socketUrl: `ws://127.0.0.1:${port}/api/v1/ws?api_key=${KEY}`,
    /** `mac` is the path of a Mac at a hub. */
    async post(route, body, mac = '') {
      const answer = await fetch(`http://127.0.0.1:${port}${mac}/api/v1${route}`, {
        method: 'POST',
        headers: { 'X-API-Key': KEY, 'Content-Type': 'application/json' },
        body: JSON.stringify(body),
      });
      if (!answer.ok) throw new Error(await answer.text());
    },
    async stop() {
      const ended = once(child, 'exit');
      child.kill();
      await ended;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

async function freePort() {
  const probe = createServer().listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const { port } = probe.address();
  await new Promise((resolve) => probe.close(resolve));
  return port;
}

function isHealthy(port) {
  return new Promise((resolve) => {
    const asked = get({ port, host: '127.0.0.1', path: '/api/v1/health', agent: false }, (answer) => {
      answer.resume();
      resolve(answer.statusCode === 200);
    });
    asked.on('error', () => resolve(false));
  });
}
