import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { postern } from '../support/postern.ts';
import { freePort, KEY } from '../support/service.ts';
import { temporaryFolder } from '../support/temporary.ts';

const home = temporaryFolder();
const folder = join(home, '.config', 'postern');
const keyFile = join(home, 'key.txt');
let stranger: Server;
let url = '';
let asked: IncomingHttpHeaders[];

beforeAll(async () => {
  stranger = createServer((request, response) => {
    asked.push(request.headers);
    response.writeHead(401).end();
  }).listen(0, '127.0.0.1');
  await once(stranger, 'listening');
  url = `http://127.0.0.1:${(stranger.address() as AddressInfo).port}`;
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const settings = `[server]\nport = ${await freePort()}\n[auth]\napi_key = "${KEY}"\n`;
  writeFileSync(join(folder, 'config.toml'), settings, { mode: 0o600 });
  writeFileSync(keyFile, 'another key');
});
afterAll(() => {
  stranger.closeAllConnections();
  stranger.close();
});
beforeEach(() => {
  asked = [];
});

test.each<readonly [string, readonly string[], boolean?]>([
  ['--url', ['status', '--url', 'URL']],
  ['--url with a configuration that is named', ['status', '--config-dir', folder, '--url', 'URL']],
  ['POSTERN_URL', ['conversations'], true],
  ['--url of a send', ['send', '+15550100', 'Hello', '--url', 'URL']],
  ['--url of tail', ['tail', '--url', 'URL']],
  ['--url of a new key', ['keys', 'add', 'agent', '--preset', 'reader', '--url', 'URL']],
])('the key of config.toml is not sent to another address by %s', async (_, words, isInEnvironment = false) => {
  const { exitCode, stdout, stderr } = await postern(
    words.map((word) => (word === 'URL' ? url : word)),
    {
      env: { HOME: home, ...(isInEnvironment && { POSTERN_URL: url }) },
    },
  );
  expect(asked).toEqual([]);
  const ways = words.includes('--config-dir') ? '--key-file FILE' : '--key-file FILE or in POSTERN_API_KEY';
  expect({ exitCode, stdout, stderr }).toEqual({
    exitCode: 77,
    stdout: '',
    stderr: `The key in config.toml is sent only to its own service, not to ${url}. Give the key for that address with ${ways}.\n`,
  });
});

test('the key of config.toml is not sent to another address by TAB', async () => {
  const { exitCode, stdout } = await postern(['complete', '--', 'messages', '--url', url, ''], { env: { HOME: home } });
  expect({ exitCode, stdout, asked }).toEqual({ exitCode: 0, stdout: '', asked: [] });
});

test('a key that was given for the address is sent there', async () => {
  await postern(['status', '--url', url, '--key-file', keyFile], { env: { HOME: home } });
  await postern(['status', '--url', url], { env: { HOME: home, POSTERN_API_KEY: 'the third' } });
  expect(asked.map((headers) => headers['x-api-key'])).toEqual(['another key', 'the third']);
});
