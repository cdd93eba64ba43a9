import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, mkdirSync, openSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { install } from '../../installer/install.ts';
import { postern } from '../support/postern.ts';
import { freePort } from '../support/service.ts';
import { StandInMac } from '../support/stand-in-mac.ts';
import { temporaryFolder } from '../support/temporary.ts';

const PLUGIN = fileURLToPath(new URL('../../installer/menubar/postern.30s.sh', import.meta.url));
const KEY = 'key-of-the-owner';
const NOBODY = '65534';
const root = temporaryFolder();

/**
 * A program that takes the port before Postern, stores all that it receives, and offers every client a menu line that
 * runs a program.
 */
const SQUATTER = `
  const { createServer } = require('node:net');
  const { writeSync } = require('node:fs');
  const menu = 'Running\\nRestart | bash="/bin/sh" param1="-c" param2="id > owned" terminal=false\\n';
  const server = createServer((connection) => {
    connection.on('error', () => {});
    connection.on('data', (chunk) => {
      writeSync(3, chunk);
      connection.end('HTTP/1.1 200 OK\\r\\nContent-Length: ' + menu.length + '\\r\\nConnection: close\\r\\n\\r\\n' + menu);
    });
  }).listen(Number(process.argv[1]), '127.0.0.1', () => console.log('listening'));
`;

let squatter: ChildProcess;
let port: number;
let received: string;
const macs: StandInMac[] = [];

async function squat(): Promise<void> {
  received = join(root, `received-${process.hrtime.bigint()}`);
  // Passed on as an open file, because the other account may not read this folder.
  const file = openSync(received, 'w');
  const command = [process.execPath, '-e', SQUATTER, String(port)];
  // Another account if this test may switch to one, otherwise the same.
  const user = process.getuid?.() === 0 ? ['setpriv', `--reuid=${NOBODY}`, '--clear-groups'] : [];
  const [program = '', ...rest] = [...user, ...command];
  squatter = spawn(program, rest, { stdio: ['ignore', 'pipe', 'inherit', file] });
  closeSync(file);
  const started = once(squatter.stdout as NodeJS.ReadableStream, 'data');
  const [said] = (await Promise.race([started, once(squatter, 'exit')])) as [Buffer | number];
  expect(String(said)).toBe('listening\n');
}

beforeEach(async () => {
  port = await freePort();
  await squat();
});
afterEach(async () => {
  const ended = once(squatter, 'exit');
  squatter.kill('SIGKILL');
  await ended;
  for (const mac of macs.splice(0)) await mac.close();
});

async function newMac(hasSocketFile = false): Promise<StandInMac> {
  const mac = await StandInMac.start();
  macs.push(mac);
  mkdirSync(mac.layout.support, { recursive: true, mode: 0o700 });
  const toml = `[server]\nport = ${port}\n[auth]\napi_key = "${KEY}"\n`;
  writeFileSync(mac.layout.config, toml, { mode: 0o600 });
  if (hasSocketFile) writeFileSync(join(mac.layout.support, 'postern.sock'), '');
  return mac;
}

describe.each([
  ['', false],
  [' while a file has the name of the socket', true],
])('another program on the port%s receives neither the key nor a request from', (_, hasSocketFile) => {
  test('the command line, which says that nothing answers', async () => {
    const mac = await newMac(hasSocketFile);
    for (const command of [['status'], ['tail'], ['tail', '--after', '1'], ['send', '+15550100', 'Hello']]) {
      const { exitCode, stdout, stderr } = await postern([...command, '--config-dir', mac.layout.support]);
      expect({ exitCode, stdout }).toEqual({ exitCode: hasSocketFile ? 78 : 69, stdout: '' });
      expect(stderr).toMatch(
        hasSocketFile ? /is a file, not a socket.*\nTo use the port, if you know/ : 'postern.sock (ENOENT)',
      );
    }
    expect(readFileSync(received, 'utf8')).toBe('');
  });

  test('doctor', async () => {
    const mac = await newMac(hasSocketFile);
    const { stdout } = await postern(['doctor', '--config-dir', mac.layout.support]);
    expect(stdout).toMatch(
      hasSocketFile ? /The service was not checked\. .* is a file, not a socket/ : `Port ${port} is taken by`,
    );
    expect(readFileSync(received, 'utf8')).toBe('');
  });

  test('the menu bar plugin, which prints none of its lines', async () => {
    const mac = await newMac(hasSocketFile);
    const env = { ...mac.environment, HOME: mac.home };
    const { stdout } = spawnSync('/bin/sh', [PLUGIN], { env, encoding: 'utf8' });
    expect(stdout).toContain('\nNot installed\n');
    expect(stdout).not.toContain('param1="-c"');
    expect(readFileSync(received, 'utf8')).toBe('');
  });

  test('the installer, before and after it has started the agent', async () => {
    const mac = await newMac(hasSocketFile);
    await expect(install(mac.machine(), mac.options())).rejects.toMatchObject({ code: 'port_taken' });
    expect(readFileSync(received, 'utf8')).toBe('');

    const ended = once(squatter, 'exit');
    squatter.kill('SIGKILL');
    await ended;
    const machine = mac.machine();
    const run: typeof machine.run = async (program, args, options) => {
      // The port is taken between the check and the start of the agent.
      if (args[0] === 'bootstrap') await squat();
      return machine.run(program, args, options);
    };
    await expect(install({ ...machine, run }, mac.options())).rejects.toMatchObject({ code: 'agent_not_healthy' });
    expect(mac.launchctlVerbs).toContain('bootstrap');
    expect(readFileSync(received, 'utf8')).toBe('');
  });
});

test('an address that the user names is asked, no matter which program listens there', async () => {
  const mac = await newMac();
  const url = `http://127.0.0.1:${port}`;
  expect(await postern(['status', '--config-dir', mac.layout.support, '--url', url])).toMatchObject({
    exitCode: 69,
    stderr: expect.stringContaining('is not Postern'),
  });
  expect(readFileSync(received, 'utf8')).toContain(KEY);
});
