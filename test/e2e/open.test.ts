import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { eventually } from '../support/eventually.ts';
import { type Ended, postern } from '../support/postern.ts';
import { KEY, Service } from '../support/service.ts';
import { temporaryFolder } from '../support/temporary.ts';

const root = temporaryFolder();
const programs = join(root, 'bin');
const openedPage = join(root, 'opened');
const minuteIsOver = join(root, 'minute-is-over');
let service: Service;

beforeAll(async () => {
  mkdirSync(programs);
  // A minute that ends when the test ends it.
  standIn('sleep', `[ "$1" = 60 ] || exit 1; until [ -e '${minuteIsOver}' ]; do /bin/sleep 0.02; done`);
  service = await Service.here({ chatDbPath: join(root, 'none'), osascriptPath: join(root, 'none') });
});
afterAll(() => service.dispose());
beforeEach(() => {
  rmSync(minuteIsOver, { force: true });
  standIn('xdg-open', `echo "$#" "$1" > '${openedPage}'`);
});
afterEach(async () => {
  writeFileSync(minuteIsOver, '');
  await eventually(() => expect(pages()).toEqual([]));
});

function standIn(name: string, lines: string): void {
  writeFileSync(join(programs, name), `#!/bin/sh\n${lines}\n`, { mode: 0o755 });
}

function open(...options: readonly string[]): Promise<Ended> {
  return openAt(service.configFolder, ...options);
}

function openAt(folder: string, ...options: readonly string[]): Promise<Ended> {
  return postern(['--config-dir', folder, 'open', ...options], {
    env: { PATH: `${programs}:${process.env.PATH ?? ''}` },
  });
}

const pages = (): readonly string[] =>
  readdirSync(service.configFolder)
    .filter((name) => name.endsWith('.html'))
    .map((name) => join(service.configFolder, name));

test('the browser opens a private page that leads to the console with a code for the key, and the page is then deleted', async () => {
  const { exitCode, stdout, stderr } = await open();
  expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
  const url = `http://127.0.0.1:${service.port}`;
  expect(stdout).toBe(`Opened the console of ${url} in the browser.\n`);
  const [page = ''] = pages();
  expect(readFileSync(openedPage, 'utf8')).toBe(`1 ${page}\n`);
  expect(statSync(page).mode & 0o777).toBe(0o600);
  const text = readFileSync(page, 'utf8');
  expect(text).not.toContain(KEY);
  const [, code = ''] = text.split(`content="0; url=${url}/console#code=`).map((part) => part.split('"')[0]);
  const answer = await fetch(`${url}/console/sign-in`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', Origin: url },
    body: JSON.stringify({ code }),
  });
  expect(await answer.json()).toEqual({ key: KEY });
});

test('an address that is named is opened without a key, and it says where the key is', async () => {
  for (const url of [`http://127.0.0.1:${service.port}`, 'https://mini.example']) {
    const { exitCode, stdout, stderr } = await open('--url', url);
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
    expect(readFileSync(openedPage, 'utf8')).toBe(`1 ${url}/console\n`);
    expect(stdout).toBe(
      `Opened ${url}/console in the browser.\nThe console asks for the key of its service. On the machine of the service, "postern config key" prints it.\n`,
    );
    expect(pages()).toEqual([]);
  }
});

test('without a socket the console is opened without a key, and it says where the key is', async () => {
  const folder = join(root, 'without-socket');
  mkdirSync(folder, { mode: 0o700 });
  const settings = `[server]\nport = 3999\n[auth]\napi_key = "${KEY}"\n`;
  writeFileSync(join(folder, 'postern.sock'), 'mine');
  writeFileSync(join(folder, 'config.toml'), settings, { mode: 0o600 });
  const { exitCode, stdout, stderr } = await openAt(folder);
  expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
  expect(readFileSync(openedPage, 'utf8')).toBe('1 http://127.0.0.1:3999/console\n');
  expect(stdout).toContain(
    `because this command found no Unix socket that it can trust. ${join(folder, 'postern.sock')} is a file, not a socket`,
  );
  expect(stdout).toContain(`The key is api_key in ${join(folder, 'config.toml')}. Enter it only if you know`);
  expect(stdout).not.toContain(KEY);
  standIn('xdg-open', 'exit 3');
  const failed = await openAt(folder);
  expect([failed.exitCode, failed.stdout]).toEqual([1, '']);
  expect(failed.stderr).toContain('Open this address: http://127.0.0.1:3999/console\n');
});

test('without a browser it says which file to open', async () => {
  standIn('xdg-open', 'exit 3');
  const { exitCode, stdout, stderr } = await open();
  expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: '' });
  expect(stderr).toContain(`Open this file within 60 seconds, in a browser on this machine: ${pages()[0] ?? '-'}`);
});

test('a page that was left behind is removed', async () => {
  const left = join(service.configFolder, 'console-0123456789abcdef.html');
  writeFileSync(left, KEY);
  utimesSync(left, 1, 1);
  await open();
  expect(pages()).not.toContain(left);
});

test('nothing is written while no service answers', async () => {
  await service.stop();
  const { exitCode } = await open();
  expect(exitCode).toBe(69);
  expect(pages()).toEqual([]);
});
