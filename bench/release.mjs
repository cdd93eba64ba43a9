// Measures the packed file: its size, and the time from `npx --package FILE postern demo` to the first event.
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { summary } from './figures.mjs';

const ROOT = new URL('../', import.meta.url).pathname;
/** The packed file contains no SQLite, so it needs a Node that has one. `make test` installs it. */
const NODE_22 = `${ROOT}test/support/programs/`;
const MIB = 2 ** 20;

export async function releaseRows({ rounds }) {
  execFileSync(process.execPath, [`${ROOT}installer/packages/release.mjs`], { stdio: 'ignore' });
  const { name, version } = JSON.parse(readFileSync(`${ROOT}package.json`, 'utf8'));
  const file = `${ROOT}release/${name}-${version}.tgz`;
  const times = [];
  for (let round = 0; round < rounds; round += 1) times.push(await firstEvent(file));
  return [
    {
      what: 'packed file',
      postern: summary([statSync(file).size / MIB]),
      unit: 'MiB',
      bound: 12,
    },
    {
      what: 'npx --package FILE postern demo → first event on Node 22, with an empty cache and without the network',
      postern: summary(times),
      unit: 's',
      bound: 60,
    },
  ];
}

/** Returns the folder of the newer Node's program. Installs it if necessary. */
function node22Folder() {
  if (!existsSync(`${NODE_22}node_modules/.bin/node`))
    execFileSync('npm', ['ci', '--prefix', NODE_22, '--no-audit', '--no-fund'], { stdio: 'ignore' });
  return `${NODE_22}node_modules/.bin`;
}

/** Returns the seconds until the first event, for a user whose terminal listens as soon as the demo answers. */
async function firstEvent(file) {
  const home = mkdtempSync(join(tmpdir(), 'postern-bench-npx-'));
  const folder = join(home, 'demo');
  const startedAt = performance.now();
  const demo = spawn(
    'npx',
    ['--yes', '--offline', '--package', file, 'postern', 'demo', '--dir', folder, '--port', '0'],
    {
      cwd: home,
      env: { PATH: `${node22Folder()}:${process.env.PATH}`, HOME: home, npm_config_cache: join(home, 'cache') },
      stdio: ['ignore', 'pipe', 'inherit'],
      // npx starts the demo as a child process, so both are ended as one group.
      detached: true,
    },
  );
  try {
    let output = '';
    for await (const chunk of demo.stdout) {
      output += chunk;
      if (output.includes('Ctrl+C')) break;
    }
    const [, url] = /(http:\/\/[\d.:]+)\/docs/.exec(output);
    const key = /^api_key = "(.+)"/m.exec(readFileSync(join(folder, 'config.toml'), 'utf8'))[1];
    const stream = await fetch(`${url}/api/v1/events`, { headers: { 'X-API-Key': key, Accept: 'text/event-stream' } });
    for await (const chunk of stream.body) if (Buffer.from(chunk).includes('data: ')) break;
    return (performance.now() - startedAt) / 1000;
  } finally {
    const ended = once(demo, 'exit');
    process.kill(-demo.pid, 'SIGTERM');
    await ended;
    rmSync(home, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
  }
}
