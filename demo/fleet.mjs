// A whole fleet on this machine: a real nats-server (FLEET=3: a cluster), three simulated Macs, two hubs, and a balancer
// in front of the hubs. Makes its own keys, and removes everything when it ends. `make fleet` runs it.
import { execFileSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { startBalancer } from './balancer.mjs';
import { Children } from './children.mjs';

/** m1 has two machines, as a pair of Macs with one Apple account has. They share no messages here. */
const MACHINES = [
  ['m1', 'm1-a'],
  ['m1', 'm1-b'],
  ['m2', 'm2'],
  ['m3', 'm3'],
];
const MACS = [...new Set(MACHINES.map(([mac]) => mac))];
const HUBS = ['hub-1', 'hub-2'];
const START_MS = 60_000;
const program = fileURLToPath(new URL('../dist/main.js', import.meta.url));

const version = serverVersion();
if (version === undefined) {
  console.error('make fleet needs nats-server, which is not on PATH.');
  console.error('  Debian, Ubuntu: apt install nats-server    macOS: brew install nats-server');
  process.exit(69);
}
const count = process.env.FLEET === '3' ? 3 : 1;
const folder = mkdtempSync(join(realpathSync(tmpdir()), 'postern-fleet-'));
const fleet = join(folder, 'fleet');
const children = new Children(folder);
let balancer;
let isEnding = false;
process.on('exit', () => children.killAll());
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => void end(0));

try {
  await start();
} catch (error) {
  if (!isEnding) {
    console.error(`The fleet did not start: ${error.message}\n${lastLines()}`);
    await end(1);
  }
}

async function start() {
  const servers = await freePorts(count, 2000);
  const addresses = servers.flatMap((port) => ['--server', `127.0.0.1:${port}`]);
  postern('init', '--server-version', version, ...addresses);
  const lines = new Map(MACS.map((mac) => [mac, postern('add', mac)]));
  for (const index of servers.keys()) {
    const suffix = count === 1 ? '' : `-${index + 1}`;
    const args = ['-c', `nats-server${suffix}.conf`];
    children.start(`nats${suffix}`, { command: 'nats-server', args, cwd: join(fleet, 'server') });
  }
  await until('the streams', () => postern('init', '--connect'));

  const key = randomUUID();
  const ports = await freePorts(MACHINES.length + HUBS.length);
  for (const [index, [mac, machine]] of MACHINES.entries()) {
    const home = configure(machine, { port: ports[index], key, line: lines.get(mac), machine });
    mkdirSync(join(home, 'home'), { mode: 0o700 });
    children.start(machine, { command: process.execPath, args: [program, 'demo', '--dir', home], cwd: folder });
  }
  const hubPorts = ports.slice(MACHINES.length);
  for (const [index, hub] of HUBS.entries()) {
    const home = configure(hub, { port: hubPorts[index], key, line: readFileSync(join(fleet, 'hub.line')) });
    children.start(hub, { command: process.execPath, args: [program, 'hub', '--config-dir', home], cwd: folder });
  }
  balancer = await startBalancer(Number(process.env.PORT ?? 3001), hubPorts).catch(() => startBalancer(0, hubPorts));
  for (const [index, hub] of HUBS.entries())
    await until(hub, () => isComplete(`http://127.0.0.1:${hubPorts[index]}`, key));
  introduce(`http://127.0.0.1:${balancer.port}`, key, hubPorts);
  listenToPerson();
}

/** Creates the folder of a machine or a hub, as "postern fleet join" leaves it. Returns its path. */
function configure(name, { port, key, line, machine }) {
  const home = join(folder, name);
  mkdirSync(home, { mode: 0o700 });
  const file = join(home, 'member.line');
  writeFileSync(file, line, { mode: 0o600 });
  const text = JSON.stringify;
  const lines = [
    '[server]',
    `port = ${port}`,
    'rate_limit_per_minute = 6000',
    '[auth]',
    `api_key = ${text(key)}`,
    ...(machine === undefined ? [] : ['[backend]', 'poll_interval_ms = 250']),
    '[fleet]',
    `file = ${text(file)}`,
    ...(machine === undefined ? [] : [`machine = ${text(machine)}`]),
    '',
  ];
  writeFileSync(join(home, 'config.toml'), lines.join('\n'), { mode: 0o600 });
  return home;
}

/** Reports whether a hub knows every Mac as present. */
async function isComplete(url, key) {
  const response = await fetch(`${url}/api/v1/macs`, { headers: { 'X-API-Key': key } });
  const macs = await response.json();
  return macs.length === MACS.length && macs.every(({ state }) => state === 'present');
}

function introduce(url, key, hubPorts) {
  const keyFile = join(folder, 'key');
  writeFileSync(keyFile, `${key}\n`, { mode: 0o600 });
  const header = `-H "X-API-Key: $(cat ${keyFile})"`;
  const postern = `node ${program}`;
  console.log(`
${count === 1 ? 'One nats-server' : `${count} nats-servers`} ${version}, ${MACS.length} simulated Macs (${MACS.join(', ')}; m1 has two machines), ${HUBS.length} hubs (ports ${hubPorts.join(', ')}).
No real message is read or sent. Everything is in ${folder}.

The console of the fleet, and of each Mac: ${url}/console
  Its key is in ${keyFile}
The fleet, through the balancer:
  curl ${header} ${url}/api/v1/macs
  curl ${header} '${url}/api/v1/conversations?limit=3'
One Mac, with all that it does itself:
  curl ${header} '${url}/macs/m2/api/v1/messages?limit=3'
  curl ${header} -H 'Content-Type: application/json' -d '{"recipient": "+15550100", "body": "Hello"}' ${url}/macs/m2/api/v1/messages
Events of all Macs (if the stream ends, its hub has stopped: run this again with the last id instead of 0):
  curl -N ${header} -H 'Accept: text/event-stream' '${url}/api/v1/events?after=0'
Status of the servers:
  ${postern} fleet status --dir ${fleet}

Break something here: kill, pause, resume or start one of ${children.names.join(', ')}. For example: kill hub-1
Ctrl+C ends it.`);
}

/** Reads faults from the terminal, one per line. */
function listenToPerson() {
  let done = Promise.resolve();
  createInterface({ input: process.stdin }).on('line', (line) => {
    const [what = '', name = ''] = line.trim().split(/\s+/);
    if (what !== '') done = done.then(() => act(what, name));
  });
}

async function act(what, name) {
  const actions = {
    kill: () => children.kill(name),
    pause: () => children.signal(name, 'SIGSTOP'),
    resume: () => children.signal(name, 'SIGCONT'),
    start: () => children.start(name),
  };
  if (!Object.hasOwn(actions, what) || !children.names.includes(name)) {
    return console.log(`Type kill, pause, resume or start, and one of ${children.names.join(', ')}.`);
  }
  const wasRunning = children.isRunning(name);
  if (wasRunning === (what === 'start'))
    return console.log(`${name} ${wasRunning ? 'is already running' : 'is not running'}.`);
  await actions[what]();
  console.log(`${name}: ${what}`);
}

/** Stops the servers last, so that Macs and hubs can announce that they leave. */
async function end(code) {
  if (isEnding) return;
  isEnding = true;
  process.stdin.destroy();
  balancer?.close();
  await Promise.all([...HUBS, ...MACS].map((name) => children.stop(name)));
  await Promise.all(children.names.map((name) => children.stop(name)));
  rmSync(folder, { recursive: true, force: true });
  process.exit(code);
}

function postern(command, ...args) {
  try {
    return execFileSync(process.execPath, [program, 'fleet', command, ...args, '--dir', fleet], {
      stdio: ['ignore', 'pipe', 'pipe'],
    });
  } catch (error) {
    throw new Error(String(error.stderr).trim() || error.message);
  }
}

function serverVersion() {
  try {
    return /\bv?(\d+\.\d+\.\d+)/.exec(execFileSync('nats-server', ['--version'], { encoding: 'utf8' }))?.[1];
  } catch {
    return undefined;
  }
}

/**
 * Returns free ports of loopback, below those that the system assigns to connections (from 32768 on Linux, from 49152 on
 * macOS). With `distance`, the ports that far above them are free too.
 */
async function freePorts(wanted, distance = 0) {
  const found = new Map();
  while (found.size < wanted) {
    const port = 10_000 + Math.floor(Math.random() * 20_000);
    const servers = [];
    try {
      servers.push(await listening(port));
      if (distance > 0) servers.push(await listening(port + distance));
      found.set(port, servers);
    } catch (error) {
      if (error.code !== 'EADDRINUSE') throw error;
      for (const server of servers) server.close();
    }
  }
  for (const server of [...found.values()].flat()) server.close();
  return [...found.keys()];
}

async function listening(port) {
  const server = createServer();
  await new Promise((resolve, reject) => server.once('error', reject).listen(port, '127.0.0.1', resolve));
  return server;
}

/** Returns the last three lines that each program printed. */
function lastLines() {
  return children.names
    .map(
      (name) =>
        `${name}: ${readFileSync(join(folder, `${name}.log`), 'utf8')
          .trim()
          .split('\n')
          .slice(-3)
          .join('\n  ')}`,
    )
    .join('\n');
}

async function until(what, ask) {
  const start = performance.now();
  for (;;) {
    let problem = 'not all Macs are present';
    try {
      if ((await ask()) !== false) return;
    } catch (error) {
      problem = error.message;
    }
    if (isEnding) throw new Error('it was stopped');
    if (performance.now() - start > START_MS) throw new Error(`${what} took longer than a minute (${problem}).`);
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
}
