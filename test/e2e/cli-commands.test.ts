import { once } from 'node:events';
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { Message } from '../../src/core/model/message.ts';
import type { ScheduledSend } from '../../src/features/scheduled/scheduled.ts';
import { SimulatedMac } from '../../src/features/simulator/mac.ts';
import { type Ended, type PosternOptions, postern, startPostern } from '../support/postern.ts';
import { freePort, KEY, Service } from '../support/service.ts';
import { ABSENT, temporaryFolder } from '../support/temporary.ts';

const ANA = '+15550100';

const root = temporaryFolder();
const keyFile = join(root, 'key.txt');
let mac: SimulatedMac;
let service: Service;

beforeAll(async () => {
  writeFileSync(keyFile, `${KEY}\n`, { mode: 0o600 });
  mac = new SimulatedMac({
    dir: join(root, 'mac'),
    moduleFolder: fileURLToPath(new URL('../../dist/src/features/simulator/', import.meta.url)),
  });
  await mac.start();
  service = await Service.here({ chatDbPath: mac.chatDbPath, osascriptPath: mac.osascriptPath });
  for (const text of ['first', 'second\nline', '\x1b[31mthird']) {
    await mac.command({ do: 'receive', from: ANA, text });
  }
});
afterAll(async () => {
  await service.dispose();
  await mac.stop();
});

/** Runs a command as the user of this machine, who has everything in the configuration. */
function run(args: readonly string[], options?: PosternOptions): Promise<Ended> {
  return postern(['--config-dir', service.configFolder, ...args], options);
}

async function jsonOf<Result>(args: readonly string[], options?: PosternOptions): Promise<Result> {
  const { exitCode, stdout, stderr } = await run([...args, '--json'], options);
  expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
  return JSON.parse(stdout) as Result;
}

describe('reading', () => {
  test('status says how the service is, for people and for programs', async () => {
    const { exitCode, stdout } = await run(['status']);
    expect(exitCode).toBe(0);
    expect(stdout).toContain(` at ${join(service.configFolder, 'postern.sock')}, up `);
    expect(stdout).toMatch(/^Postern {5}\d+\.\d+\.\d+ at \S+, up \d+ s\nMessages {4}connected\n/);
    expect(stdout).toMatch(/\nEvents {6}\d+ in the last hour, \d+ today\nSends {7}none since \d\d:\d\d:\d\d\n$/);
    const report = await jsonOf<object>(['status']);
    expect(report).toMatchObject({ backend: { connected: true }, webhooks: [] });
    expect(Object.keys(report)).not.toContain('events');
  });

  test('the version is printed for the words that people try first', async () => {
    const [first, second] = await Promise.all([postern(['-v']), postern(['version'])]);
    expect(first).toMatchObject({ exitCode: 0, stdout: expect.stringMatching(/^\d+\.\d+\.\d+\n$/) });
    expect(second).toEqual(first);
  });

  test('conversations is a table, whose lines a pipe gets whole', async () => {
    const { stdout } = await run(['conversations']);
    expect(stdout).toMatch(/^LAST MESSAGE +CONVERSATION +NAME +PARTICIPANTS\n/);
    expect(stdout).toContain(ANA);
  });

  test('messages reads downwards, a line each, and nothing in them commands the terminal', async () => {
    const { stdout } = await run(['messages']);
    expect(stdout.split('\n').slice(1, 4)).toEqual([
      expect.stringMatching(/^1 .* ← {2}\+15550100 {2}first$/),
      expect.stringMatching(/^2 .* ← {2}\+15550100 {2}second ⏎ line$/),
      expect.stringMatching(/^3 .* ← {2}\+15550100 {2}\[31mthird$/),
    ]);
  });

  test('messages are filtered by conversation, by address, by time and number', async () => {
    const [newest] = await jsonOf<Message[]>(['messages', '--limit', '1']);
    expect(newest).toMatchObject({ id: '3' });
    const id = newest?.conversation_id ?? '';
    expect(await jsonOf(['messages', id])).toHaveLength(3);
    expect(await jsonOf(['messages', ANA, '--limit', '2'])).toHaveLength(2);
    expect(await jsonOf(['messages', '--since', '2999-01-01'])).toEqual([]);
    const { exitCode, stderr } = await run(['messages', 'nobody']);
    expect({ exitCode, stderr }).toEqual({
      exitCode: 65,
      stderr: expect.stringContaining('no conversation with nobody'),
    });
  });

  test('an empty list leaves the output empty and says so on standard error', async () => {
    const none = { exitCode: 0, stdout: '' };
    expect(await run(['messages', 'any;-;+15559999999'])).toEqual({ ...none, stderr: 'There are no such messages.\n' });
    expect(await run(['webhooks', 'list'])).toEqual({ ...none, stderr: 'No webhook is registered.\n' });
    expect(await jsonOf(['messages', 'any;-;+15559999999'])).toEqual([]);
  });

  test('more than a page is gathered page by page', async () => {
    await mac.command({ do: 'burst', from: 'many@example.com', count: 450 });
    const messages = await jsonOf<Message[]>(['messages', 'many@example.com', '--limit', '430']);
    expect(new Set(messages.map(({ id }) => id)).size).toBe(430);
  });
});

describe('sending', () => {
  test('takes the text as an argument', async () => {
    const { exitCode, stdout } = await run(['send', ANA, 'from the shell']);
    expect({ exitCode, stdout }).toEqual({
      exitCode: 0,
      stdout: expect.stringMatching(/^Sent to \+15550100 as message \d+ \(/),
    });
    expect(mac.calls.at(-1)?.values).toMatchObject({ RECIPIENT: ANA, BODY: 'from the shell' });
  });

  test('later is listed, and cancelled by the beginning of its id', async () => {
    const { exitCode, stdout } = await run(['send', ANA, '*Later*', '--markdown', '--at', '2h', '--service', 'auto']);
    expect({ exitCode, stdout }).toEqual({ exitCode: 0, stdout: expect.stringMatching(/^Scheduled for \+15550100, /) });
    const [entry] = await jsonOf<readonly ScheduledSend[]>(['scheduled', 'list']);
    expect(entry).toMatchObject({ state: 'scheduled', to: ANA, text: 'Later', service: 'auto' });
    const id = entry?.id ?? '';
    expect((await run(['scheduled', 'list'])).stdout).toMatch(new RegExp(`^ID .*\n${id} +scheduled `));
    expect((await run(['scheduled', 'cancel', id.slice(0, 6)])).stdout).toBe('Cancelled: it will not be sent.\n');
    const again = await run(['scheduled', 'cancel', id]);
    expect([again.exitCode, again.stderr]).toEqual([65, expect.stringContaining('already cancelled')]);
    expect((await run(['send', ANA, 'x', '--at', 'soon'])).exitCode).toBe(64);
    expect((await run(['send', ANA, 'x', '--until', '2h'])).exitCode).toBe(64);
  });

  test('is not done when it is interrupted', async () => {
    const silent = createServer();
    await new Promise<void>((resolve) => void silent.listen(0, '127.0.0.1', resolve));
    const asked = once(silent, 'request');
    const url = `http://127.0.0.1:${(silent.address() as AddressInfo).port}`;
    const { child } = startPostern(['send', ANA, 'half way', '--url', url, '--key-file', keyFile]);
    await asked;
    child.kill('SIGINT');
    await once(child, 'exit');
    expect([child.exitCode, child.signalCode]).toEqual([null, 'SIGINT']);
    silent.closeAllConnections();
    silent.close();
  });

  test('reads it from stdin with -, without the line end that echo adds', async () => {
    const message = await jsonOf<Message>(['send', ANA, '-'], { input: 'två\nrader 🎉\n' });
    expect(message.body).toBe('två\nrader 🎉');
  });

  test('finds attachments from the folder it is called in', async () => {
    writeFileSync(join(root, 'a file.txt'), 'content');
    const message = await jsonOf<Message>(['send', ANA, '--attach', 'a file.txt'], { cwd: root });
    expect(message.attachments).toEqual([expect.stringMatching(/a file\.txt$/)]);
  });

  test('with an idempotency key happens once', async () => {
    const send = ['send', ANA, 'once', '--idempotency-key', 'one'];
    expect((await jsonOf<Message>(send)).id).toBe((await jsonOf<Message>(send)).id);
    const again = await run(send);
    expect(again.stdout).toMatch(
      /^Not sent again: message \d+ from \S+.* already has this idempotency key \(\w+\)\.\n$/,
    );
    const { exitCode } = await run(['send', ANA, 'other', '--idempotency-key', 'one']);
    expect(exitCode).toBe(65);
  });

  test.each([
    ['nothing to send', [ANA], {}, 64, 'nothing to send'],
    ['a file that is not there', [ANA, '--attach', ABSENT], {}, 65, 'cannot be read (ENOENT)'],
    ['bytes that are no text', [ANA, '-'], { input: new Uint8Array([0xff, 0xfe]) }, 65, 'not UTF-8 text'],
    ['too much text', [ANA, '-'], { input: 'x'.repeat(30_000) }, 65, '20,000'],
    ['a key that no header can carry', [ANA, 'x', '--idempotency-key', 'ключ'], {}, 65, 'printable ASCII'],
  ])('is refused in a sentence: %s', async (_, args, options, code, words) => {
    const { exitCode, stdout, stderr } = await run(['send', ...args], options);
    expect({ exitCode, stdout }).toEqual({ exitCode: code, stdout: '' });
    expect(stderr).toContain(words);
    expect(stderr).not.toMatch(/\n\s+at /);
  });

  test('prints the error of Messages when it fails', async () => {
    await mac.command({ do: 'scenario', name: 'not_permitted', times: 1 });
    const refused = await run(['send', ANA, 'x']);
    expect(refused).toMatchObject({ exitCode: 69, stderr: expect.stringContaining('Automation') });
  });
});

describe('finding the service', () => {
  const command = ['conversations', '--limit', '1'];

  test('by options, by the environment, by the configuration', async () => {
    const url = `http://127.0.0.1:${service.port}`;
    const ways: readonly Promise<Ended>[] = [
      postern([...command, '--url', url, '--key-file', keyFile]),
      postern(command, { env: { POSTERN_URL: `${url}/api/v1`, POSTERN_API_KEY: KEY } }),
      postern(command, { env: { POSTERN_CONFIG_DIR: service.configFolder } }),
      // A configuration that is named beats the environment.
      run(command, { env: { POSTERN_URL: 'http://127.0.0.1:1', POSTERN_API_KEY: 'another' } }),
    ];
    for (const way of ways) expect(await way).toMatchObject({ exitCode: 0, stderr: '' });
  });

  test('by --demo, beside the configuration', async () => {
    const config = join(root, 'config');
    mkdirSync(config);
    symlinkSync(service.configFolder, join(config, 'postern-demo'));
    expect((await postern([...command, '--demo'], { env: { XDG_CONFIG_HOME: config } })).exitCode).toBe(0);
  });

  test('a key with letters beyond ASCII is the same key', async () => {
    const other = await Service.here({
      chatDbPath: mac.chatDbPath,
      settings: { auth: { api_key: 'schlüssel ключ' } },
    });
    try {
      expect((await postern(['--config-dir', other.configFolder, 'status'])).exitCode).toBe(0);
    } finally {
      await other.dispose();
    }
  });

  test.each([
    ['a wrong key', { POSTERN_API_KEY: 'wrong' }, [], 77, ['missing or wrong', 'api_key']],
    ['a key file that is not there', {}, ['--key-file', ABSENT], 78, [`${ABSENT} cannot be read (ENOENT)`, 'may read']],
    ['a folder as key file', {}, ['--key-file', '/'], 78, ['/ cannot be read (EISDIR)']],
    ['no configuration', {}, [], 78, ['There is no configuration at', 'postern serve']],
    [
      'no key for an address',
      {},
      ['--url', 'http://127.0.0.1:1'],
      77,
      ['no key for http://127.0.0.1:1', 'POSTERN_API_KEY'],
    ],
    ['no demo', {}, ['--demo'], 78, ['Start the demo first']],
    ['an address without http', {}, ['--url', '127.0.0.1:3001'], 64, ['http://127.0.0.1:3001']],
  ])('%s is a sentence and what to do', async (_, env, args, code, words) => {
    const url = `http://127.0.0.1:${service.port}`;
    const isKeyGiven = 'POSTERN_API_KEY' in env;
    const { exitCode, stdout, stderr } = await postern([...command, ...args], {
      env: isKeyGiven ? { POSTERN_URL: url, ...env } : env,
    });
    expect({ exitCode, stdout }).toEqual({ exitCode: code, stdout: '' });
    for (const part of words) expect(stderr).toContain(part);
    expect(stderr).not.toMatch(/\n\s+at |Error/);
  });

  test('a service that is down is named with its address', async () => {
    const url = `http://127.0.0.1:${await freePort()}`;
    for (const args of [command, ['tail'], ['tail', '--after', '1']]) {
      const { exitCode, stderr } = await postern([...args, '--url', url, '--key-file', keyFile]);
      expect(exitCode).toBe(69);
      expect(stderr).toMatch(
        new RegExp(`^Postern does not answer at ${url} \\(ECONNREFUSED\\)\\.\nIs it running there, .*\n$`),
      );
    }
  });

  test.each([
    ['answers with a page', 200, '<html>\x1b[31m'],
    ['does not know the path', 404, 'Not Found'],
    ['sends elsewhere, and never sees the key there', 302, ''],
  ])('a port where something else %s is called wrong', async (_, status, body) => {
    const paths: string[] = [];
    const server = createServer((request, response) => {
      paths.push(request.url ?? '');
      response.writeHead(status, { location: '/stolen' }).end(body);
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    try {
      const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
      const { exitCode, stderr } = await postern([...command, '--url', url, '--key-file', keyFile]);
      expect(exitCode).toBe(69);
      expect(stderr).toBe(`The program that answers at ${url} is not Postern.\nCheck the host and the port.\n`);
      expect(paths).toHaveLength(1);
    } finally {
      server.close();
    }
  });

  test('too many requests end with the time after which to try again', async () => {
    const busy = await Service.here({
      chatDbPath: mac.chatDbPath,
      settings: { server: { rate_limit_per_minute: 1 } },
    });
    try {
      await busy.get('/conversations').catch(() => undefined);
      const { exitCode, stderr } = await postern(['--config-dir', busy.configFolder, 'status']);
      expect(exitCode).toBe(69);
      expect(stderr).toMatch(/try again in \d+ s/);
    } finally {
      await busy.dispose();
    }
  });

  test('the key is in no argument, no output and no log', async () => {
    const { stdout } = await run(['status', '--json'], { env: { FORCE_COLOR: '1' } });
    expect(stdout + service.output).not.toContain(KEY);
    // JSON is never coloured, even if colour is forced.
    expect(stdout).not.toContain('\x1b');
  });
});
