import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, describe, expect, test } from '@jest/globals';
import { openSqlite } from '../../src/core/runtime/sqlite.ts';
import { eventually, waitFor } from '../support/eventually.ts';
import { postern as command } from '../support/postern.ts';
import { freePort, KEY, Service } from '../support/service.ts';
import { StandInMac } from '../support/stand-in-mac.ts';
import { BARE_ENVIRONMENT, temporaryFolder } from '../support/temporary.ts';

const MAIN = fileURLToPath(new URL('../../dist/main.js', import.meta.url));
const UUID = /[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}/;

const root = temporaryFolder();
const running: Service[] = [];
let count = 0;

afterEach(async () => {
  for (const service of running.splice(0)) await service.dispose();
});

function newFolder(): string {
  count += 1;
  return join(root, `folder-${count}`);
}

interface Ended {
  readonly exitCode: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs the built program until it ends. */
async function postern(args: readonly string[], env: Record<string, string> = {}, shell?: string): Promise<Ended> {
  const command = [process.execPath, MAIN, ...args];
  const child = spawn(
    shell === undefined ? process.execPath : '/bin/sh',
    shell === undefined ? command.slice(1) : ['-c', `${shell}; exec "$@"`, 'sh', ...command],
    { stdio: ['ignore', 'pipe', 'pipe'], env: { ...BARE_ENVIRONMENT, HOME: root, ...env } },
  );
  let stdout = '';
  let stderr = '';
  child.stdout.on('data', (chunk: Buffer) => (stdout += chunk.toString()));
  child.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString()));
  const [exitCode] = (await once(child, 'close')) as [number | null];
  return { exitCode, stdout, stderr };
}

function configured(toml: string): string {
  const folder = newFolder();
  mkdirSync(folder);
  writeFileSync(join(folder, 'config.toml'), toml, { mode: 0o600 });
  return folder;
}

async function service(options: Partial<Parameters<typeof Service.start>[0]> = {}): Promise<Service> {
  const started = await Service.start({ chatDbPath: join(root, 'no-chat.db'), ...options });
  running.push(started);
  return started;
}

describe('the first launch', () => {
  test.each([
    ['serve', (folder: string) => ['serve', '--config-dir', folder], {}],
    ['no command', (folder: string) => ['--config-dir', folder], {}],
    ['--supervised', (folder: string) => ['serve', '--supervised', '--config-dir', folder], {}],
    ['the environment', () => ['serve'], 'POSTERN_CONFIG_DIR'],
  ] as const)('writes the configuration, says where it is and ends with 0: %s', async (_, args, variable) => {
    const folder = join(newFolder(), 'deeper');
    const env = typeof variable === 'string' ? { [variable]: folder } : {};
    const { exitCode, stdout, stderr } = await postern(args(folder), env);
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
    expect(stdout).toContain(join(folder, 'config.toml'));
    expect(stdout).not.toMatch(UUID);
    expect(readdirSync(folder)).toEqual(['config.toml']);
    expect(statSync(folder).mode & 0o777).toBe(0o700);
    expect(statSync(join(folder, 'config.toml')).mode & 0o777).toBe(0o600);
    expect(readFileSync(join(folder, 'config.toml'), 'utf8')).toMatch(/^api_key = "[\da-f-]{36}"$/m);
  });

  test('leaves nothing behind when the disk fills up meanwhile, and ends with 78', async () => {
    const folder = newFolder();
    const { exitCode, stderr } = await postern(['serve', '--config-dir', folder], {}, 'ulimit -f 1');
    expect(exitCode).toBe(78);
    expect(stderr).toContain(`${join(folder, 'config.toml')} cannot be used`);
    expect(stderr).toContain('It cannot be written (EFBIG');
    expect(readdirSync(folder)).toEqual([]);
  });

  test('is followed by one that serves, and neither prints the key', async () => {
    const folder = newFolder();
    const first = await postern(['serve', '--config-dir', folder]);
    const path = join(folder, 'config.toml');
    const port = await freePort();
    const text = readFileSync(path, 'utf8').replace('port = 3001', `port = ${port}`);
    writeFileSync(path, text);
    const key = UUID.exec(text)?.[0] ?? '';
    const child = spawn(process.execPath, [MAIN, '--config-dir', folder], {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { HOME: root, POSTERN_LOG_LEVEL: 'debug' },
    });
    let output = first.stdout;
    for (const stream of [child.stdout, child.stderr]) {
      stream.on('data', (chunk: Buffer) => (output += chunk.toString()));
    }
    const url = `http://127.0.0.1:${port}/api/v1`;
    await waitFor(async () => (await fetch(`${url}/health`)).ok);
    await fetch(`${url}/conversations`, { headers: { 'x-api-key': key } });
    child.kill('SIGTERM');
    const [exitCode] = (await once(child, 'close')) as [number];
    expect(exitCode).toBe(0);
    expect(output).toContain(`"url":"http://127.0.0.1:${port}"`);
    expect(output).toContain(`"config":"${path}"`);
    expect(output).not.toContain(key);
    expect(statSync(join(folder, 'state.db')).mode & 0o777).toBe(0o600);
  });
});

describe('a configuration that cannot be used', () => {
  const MISTAKEN =
    '[server]\nport = 70000\nhots = "x"\n[auth]\napi_key = " the-key-itself"\n[backend]\npoll_interval_ms = "1s"\n';

  test('ends with 78 and names every mistake and no key', async () => {
    const folder = configured(MISTAKEN);
    const { exitCode, stdout, stderr } = await postern(['serve', '--config-dir', folder]);
    expect(exitCode).toBe(78);
    for (const part of [
      join(folder, 'config.toml'),
      'server.port is 70000',
      'auth.api_key',
      'backend.poll_interval_ms is "1s"',
    ]) {
      expect(stderr).toContain(part);
    }
    expect(stdout).toContain('server.hots is not known and is ignored; the nearest known name is server.host.');
    expect(stdout + stderr).not.toContain('the-key-itself');
  });

  test('under --supervised is logged and ends with 0, so that launchd does not try forever', async () => {
    const { exitCode, stdout, stderr } = await postern(['serve', '--supervised', '--config-dir', configured(MISTAKEN)]);
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
    const lines = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as { level: string; details?: string[] });
    expect(lines.find(({ level }) => level === 'error')?.details).toHaveLength(3);
    expect(stdout).not.toContain('the-key-itself');
  });

  test('names the line of a syntax error', async () => {
    const { exitCode, stderr } = await postern([
      'serve',
      '--config-dir',
      configured('[auth]\napi_key = "the-key-itself\n'),
    ]);
    expect(exitCode).toBe(78);
    expect(stderr).toContain('Line 2: ');
    expect(stderr).not.toContain('the-key-itself');
  });
});

describe('what may pass by itself ends with 69, also under --supervised, so that launchd tries again', () => {
  test('an address that this machine does not have yet, which is named', async () => {
    const port = await freePort();
    const folder = configured(`[server]\nhost = "192.0.2.1"\nport = ${port}\n[auth]\napi_key = "k"\n`);
    const { exitCode, stderr } = await postern(['serve', '--config-dir', folder]);
    expect(exitCode).toBe(69);
    expect(stderr).toContain('Set another server.host in');
    expect(stderr).toContain('192.0.2.1');
    const supervised = await postern(['serve', '--supervised', '--config-dir', folder]);
    expect(supervised.exitCode).toBe(69);
    expect(supervised.stdout).toContain('this machine has no address 192.0.2.1');
  });

  test('a state.db that another program holds', async () => {
    const folder = configured('[server]\nport = 1\n[auth]\napi_key = "k"\n');
    const holder = openSqlite(join(folder, 'state.db'));
    holder.exec('BEGIN EXCLUSIVE');
    const { exitCode, stdout } = await postern(['serve', '--supervised', '--config-dir', folder]);
    holder.close();
    expect(exitCode).toBe(69);
    expect(stdout).toContain('close that one and start Postern again');
  });

  test('a disk without room for state.db', async () => {
    const folder = configured('[server]\nport = 1\n[auth]\napi_key = "k"\n');
    const serve = ['serve', '--supervised', '--config-dir', folder];
    const { exitCode, stdout } = await postern(serve, {}, 'ulimit -f 40');
    expect(exitCode).toBe(69);
    expect(stdout).toContain('it may be full or failing');
  });
});

test.each([
  ['a disk without room', '> "$0"', 1, /^postern: the output could not be written \(.*\)\.\n$/],
  ['a reader that has ended', '| true', 0, /^$/],
])('a command whose output goes to %s ends with a code that says so', (_to, redirection, exitCode, printed) => {
  const line = `ulimit -f 0; set -o pipefail; node "$1" man ${redirection}`;
  const shell = spawnSync('bash', ['--norc', '-c', line, join(root, 'page'), MAIN], {
    encoding: 'utf8',
    env: BARE_ENVIRONMENT,
  });
  expect([shell.status, shell.stderr]).toEqual([exitCode, expect.stringMatching(printed)]);
});

test('a taken port ends with 69, says which, and does no harm to who holds it', async () => {
  const holder = await service();
  const folder = configured(`[server]\nport = ${holder.port}\n[auth]\napi_key = "k"\n`);
  const { exitCode, stderr } = await postern(['serve', '--config-dir', folder]);
  expect(exitCode).toBe(69);
  expect(stderr).toContain(`127.0.0.1:${holder.port} is taken`);
  expect(stderr).toContain(`Or set another server.port in ${folder}/config.toml.`);
  const demo = await postern(['demo', '--dir', join(root, 'demo'), '--port', String(holder.port)]);
  expect(demo.exitCode).toBe(69);
  expect(demo.stderr).toContain(
    `Or choose another port: node ${MAIN} demo --port ${holder.port + 1} --dir ${join(root, 'demo')}\n`,
  );
  expect((await holder.get('/health')).status).toBe(200);
});

test('a port for BlueBubbles that another program has is named, not server.port', async () => {
  const holder = await service();
  const folder = configured(
    `[server]\nport = 0\n[auth]\napi_key = "a key of many letters"\n[bluebubbles]\nport = ${holder.port}\n`,
  );
  const { exitCode, stderr } = await postern(['serve', '--config-dir', folder]);
  expect(exitCode).toBe(69);
  expect(stderr).toContain(`127.0.0.1:${holder.port}, the port for BlueBubbles, cannot be used`);
});

test('on macOS a port is taken also when only lsof can tell, and the exit code is 69', async () => {
  const mac = await StandInMac.start();
  try {
    mac.keep('lsof', `p4711\ncnode\nn*:${mac.port}\n`);
    const folder = configured(`[server]\nport = ${mac.port}\n[auth]\napi_key = "k"\n`);
    const { exitCode, stderr } = await postern(['serve', '--config-dir', folder], {
      ...mac.environment,
      NODE_OPTIONS: `--import=${new URL('../support/mac-stand-ins/pretend-mac.mjs', import.meta.url).href}`,
    });
    expect(exitCode).toBe(69);
    expect(stderr).toContain(`127.0.0.1:${mac.port} is taken: node, process 4711 listens on *:${mac.port}.`);
  } finally {
    await mac.close();
  }
});

describe('a command line that means nothing', () => {
  test.each([
    [['sevre'], 'there is no command sevre.'],
    [['serve', 'twice'], 'postern: unexpected argument twice.\npostern serve --help'],
    [['send', '+15550100', 'a', 'b'], 'unexpected argument b. Put the text in quotes.'],
    [['send', '--demo', '+15550100', 'a', 'b'], 'unexpected argument b. Put the text in quotes.'],
    [['webhooks', 'deliveries', 'a', 'b'], 'postern: unexpected argument b.\npostern webhooks deliveries --help'],
    [['--prot', '1'], "unknown option '--prot'"],
    [['--config-dir'], 'argument missing.'],
    [['--config-dir', ''], 'It is empty.'],
    [['demo', '--port', '70000'], 'It must be a whole number from 0 to 65535.'],
  ])('%j ends with 64 and one sentence', async (args, sentence) => {
    const { exitCode, stdout, stderr } = await command(args);
    expect({ exitCode, stdout }).toEqual({ exitCode: 64, stdout: '' });
    expect(stderr).toContain(sentence);
  });

  test.each(['--help', '--version'])('but %s ends with 0', async (option) => {
    const { exitCode, stdout } = await command([option]);
    expect(exitCode).toBe(0);
    expect(stdout).toMatch(option === '--help' ? /serve.*demo.*Exit codes/s : /^\d+\.\d+\.\d+\n$/);
  });
});

describe('the end', () => {
  test.each(['SIGTERM', 'SIGINT'] as const)('%s stops gracefully with 0', async (signal) => {
    const started = await service();
    expect(await started.stop(signal)).toBe(0);
    expect(started.output).toContain('"msg":"stopped"');
  });

  test.each([
    ['SIGTERM', 143],
    ['SIGINT', 0],
  ] as const)('under a supervisor %s stops as gracefully, and with %i', async (signal, exitCode) => {
    const started = await service({ arguments: ['--supervised'] });
    expect(await started.stop(signal)).toBe(exitCode);
    expect(started.output).toContain('"msg":"stopped"');
  });

  test.each([
    [['--supervised'], 143],
    [[], 0],
  ])('by a SIGTERM before the program is loaded has the same code: %p, %i', (options, exitCode) => {
    const early = `process.once('newListener', (name) => { if (name === 'SIGTERM') process.nextTick(() => process.emit('SIGTERM')); });`;
    const { status } = spawnSync(process.execPath, [MAIN, 'serve', ...options, '--config-dir', '/dev/null/nowhere'], {
      env: { HOME: root, NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(early)}` },
    });
    expect(status).toBe(exitCode);
  });

  test('comes at once with the second signal, though a request is still coming in', async () => {
    const started = await service();
    const socket = connect(started.port, '127.0.0.1');
    socket.on('error', () => {});
    socket.write(
      `POST /api/v1/messages HTTP/1.1\r\nHost: localhost\r\nX-API-Key: ${KEY}\r\nContent-Length: 100\r\n\r\n{`,
    );
    await once(socket, 'connect');
    await started.get('/health');
    process.kill(started.pid, 'SIGTERM');
    await eventually(() => expect(started.output).toContain('"msg":"stopping"'));
    expect(await started.stop('SIGTERM')).toBe(0);
    expect(started.output).not.toContain('"msg":"stopped"');
    socket.destroy();
  });

  test('does not come with SIGHUP where there is no terminal', async () => {
    const started = await service();
    process.kill(started.pid, 'SIGHUP');
    await eventually(() => expect(started.output).toContain('ignoring SIGHUP'));
    expect((await started.get('/health')).status).toBe(200);
    expect(await started.stop()).toBe(0);
  });

  test.each(['throw error', 'Promise.reject(error)'])(
    'is 1 after a crash, with the reason in the log: %s',
    async (act) => {
      const plant = `const error = new Error("a planted crash near +15551234567"); process.on("SIGUSR2", () => { ${act} })`;
      const started = await service({
        env: { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(plant)}` },
      });
      expect(await started.stop('SIGUSR2')).toBe(1);
      await eventually(() => expect(started.output).toContain('a planted crash'));
      const line = started.output.split('\n').find((text) => text.includes('a planted crash')) ?? '';
      expect(JSON.parse(line)).toMatchObject({ level: 'fatal', error: { message: 'a planted crash near +1555…67' } });
    },
  );

  test('does not happen when nobody reads its log any more', async () => {
    const folder = configured(`[server]\nport = ${await freePort()}\n[auth]\napi_key = "k"\n`);
    const port = /port = (\d+)/.exec(readFileSync(join(folder, 'config.toml'), 'utf8'))?.[1] ?? '';
    const child = spawn(process.execPath, [MAIN, '--config-dir', folder], {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { HOME: root },
    });
    const ended = once(child, 'exit');
    child.stdout.destroy();
    child.stderr.destroy();
    const url = `http://127.0.0.1:${port}/api/v1/health`;
    await waitFor(async () => (await fetch(url)).ok);
    for (let n = 0; n < 5; n += 1) expect((await fetch(url)).status).toBe(200);
    child.kill('SIGTERM');
    expect((await ended)[0]).toBe(0);
  });
});

test('a log level that there is not is a warning', async () => {
  const started = await service({ env: { POSTERN_LOG_LEVEL: 'loud' } });
  expect(started.output).toContain('POSTERN_LOG_LEVEL is \\"loud\\"');
  expect(existsSync(started.configFolder)).toBe(true);
});
