// The first minute on a machine whose Node has no SQLite and where nothing is compiled: fetches the listed Node from
// npm, with an empty cache, starts the demo on it, starts it once more, and runs the commands that open databases.
// Prints the seconds of both starts. Exits 0 or 1.
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../..', import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'postern-first-minute-'));
const LIMIT_MS = 120_000;
const program = join(folder, 'program');
for (const part of ['dist', 'package.json']) cpSync(join(root, part), join(program, part), { recursive: true });
// better-sqlite3 as npm leaves it where no compiler is: without its binary. Without this copy, Node would look for the
// library in every folder above, and may find a built one there.
const library = join('node_modules', 'better-sqlite3');
for (const part of ['lib', 'package.json'])
  cpSync(join(root, library, part), join(program, library, part), { recursive: true });
// If this Node has SQLite, an option hides it, in this process only.
const options = process.getBuiltinModule?.('node:sqlite') === undefined ? [] : ['--no-experimental-sqlite'];
const env = { PATH: process.env.PATH, HOME: join(folder, 'home'), npm_config_cache: join(folder, 'npm') };
for (const name of ['npm_config_registry', 'HTTPS_PROXY', 'https_proxy', 'NODE_EXTRA_CA_CERTS'])
  if (process.env[name] !== undefined) env[name] = process.env[name];

try {
  const first = await start();
  if (!first.output.includes('Downloading Node 22.')) throw new Error(`It downloaded nothing:\n${first.output}`);
  const second = await start();
  if (second.output.includes('Fetching')) throw new Error(`It fetched a second time:\n${second.output}`);
  for (const command of [
    ['backup', join(folder, 'backup'), '--demo'],
    ['restore', join(folder, 'backup'), '--config-dir', join(folder, 'restored')],
    ['export', '--out', join(folder, 'archive'), '--demo'],
  ]) {
    const { status, stderr } = spawnSync(process.execPath, [...options, join(program, 'dist/main.js'), ...command], {
      env,
      encoding: 'utf8',
    });
    if (status !== 0) throw new Error(`${command[0]} ended with ${status}:\n${stderr}`);
  }
  const [kept] = readdirSync(join(env.HOME, '.cache/postern')).filter((name) => name.startsWith('node-'));
  console.log(`fetched and kept ${kept}; serving after ${first.seconds} s, the second time after ${second.seconds} s`);
} catch (error) {
  console.error(error.message);
  process.exitCode = 1;
} finally {
  rmSync(folder, { recursive: true, force: true });
}

/**
 * Starts the demo, asks for its health, and ends it. Resolves with its output and with the seconds until it answered.
 */
async function start() {
  const startedMs = performance.now();
  const demo = spawn(process.execPath, [...options, join(program, 'dist/main.js'), 'demo', '--port', '0'], { env });
  const ended = once(demo, 'exit');
  const limit = setTimeout(() => demo.kill('SIGKILL'), LIMIT_MS);
  let output = '';
  for (const stream of [demo.stdout, demo.stderr]) stream.on('data', (chunk) => (output += chunk));
  const isServing = () => /"msg":"serving"|"message":"serving"/.test(output);
  while (!isServing() && demo.exitCode === null && demo.signalCode === null) {
    await Promise.race([once(demo.stdout, 'data'), once(demo.stderr, 'data'), ended]);
  }
  const seconds = ((performance.now() - startedMs) / 1000).toFixed(1);
  clearTimeout(limit);
  demo.kill('SIGTERM');
  const [code] = await ended;
  if (!isServing() || code !== 0) throw new Error(`It did not serve (${code}):\n${output}`);
  if (!output.includes('"sqlite":"node:sqlite"')) throw new Error(`It serves without Node's SQLite:\n${output}`);
  return { output, seconds };
}
