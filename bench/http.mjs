// Rows over HTTP: service, bare server and loader each in a process of its own.
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { summary } from './figures.mjs';
import { questions } from './reader.mjs';

export const KEY = 'a-key-for-the-bench';
const here = (name) => new URL(name, import.meta.url).pathname;

export async function httpRows(path, { rounds, loadMs }) {
  const rows = [];
  const service = await startService(path);
  try {
    for (const [at, { name, url }] of questions(path).entries()) {
      const isOne = name.startsWith('one ');
      const rivals = await Promise.all(
        (isOne ? ['tinyhttp', 'node:http'] : ['node:http']).map((kind) => startRival(kind, path, at)),
      );
      const servers = [service, ...rivals];
      const measured = servers.map(() => []);
      for (let round = 0; round <= rounds; round += 1) {
        for (const [which, { port }] of servers.entries()) {
          const perSecond = await load(port, `/api/v1${url}`, loadMs);
          if (round > 0) measured[which].push(perSecond);
        }
      }
      for (const rival of rivals) rival.stop();
      const [postern, ...others] = measured.map(summary);
      for (const [which, other] of others.entries()) {
        rows.push({
          what: `HTTP: ${name}`,
          rival: `bare ${rivals[which].kind}`,
          postern,
          rivals: other,
          unit: 'requests/s',
          ratio: postern.median / other.median,
          least: which === 0 ? (isOne ? 0.7 : 0.75) : undefined,
        });
      }
    }
  } finally {
    await service.stop();
  }
  return rows;
}

async function load(port, path, forMs) {
  const { stdout } = await promisify(execFile)(process.execPath, [
    here('load.mjs'),
    String(port),
    path,
    KEY,
    String(forMs),
  ]);
  return Number(stdout);
}

async function startRival(kind, path, at) {
  const child = spawn(process.execPath, [here('http-rival.mjs'), kind, path, String(at)], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const [line] = await once(child.stdout, 'data');
  return { kind, port: Number(String(line)), stop: () => child.kill() };
}

/** The service as people run it, on one database. `probe`: a file of this folder that is loaded into it first. */
export async function startService(path, { probe } = {}) {
  const folder = mkdtempSync(join(tmpdir(), 'postern-bench-'));
  const config = join(folder, 'config');
  mkdirSync(config, { mode: 0o700 });
  const free = createServer().listen(0, '127.0.0.1');
  await once(free, 'listening');
  const { port } = free.address();
  await new Promise((resolve) => free.close(resolve));
  writeFileSync(
    join(config, 'config.toml'),
    `[server]\nport = ${port}\nrate_limit_per_minute = 1000000000\n[auth]\napi_key = "${KEY}"\n[backend]\nchat_db_path = "${path}"\nosascript_path = "/usr/bin/false"\n`,
    { mode: 0o600 },
  );
  const loaded = probe === undefined ? [] : ['--import', here(probe)];
  const child = spawn(process.execPath, [...loaded, here('../dist/main.js'), 'serve', '--config-dir', config], {
    stdio: ['ignore', 'ignore', 'inherit', ...(probe === undefined ? [] : ['ipc'])],
    env: { PATH: process.env.PATH, HOME: folder },
  });
  for (const deadline = performance.now() + 15_000; ; ) {
    const isUp = await fetch(`http://127.0.0.1:${port}/api/v1/health`).then(
      (answer) => answer.ok,
      () => false,
    );
    if (isUp) break;
    if (child.exitCode !== null || performance.now() > deadline) throw new Error('the service did not start');
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  return {
    port,
    child,
    async stop() {
      const ended = once(child, 'exit');
      child.kill();
      await ended;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
