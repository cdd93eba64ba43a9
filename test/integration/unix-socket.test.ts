import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  chownSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { connect, createServer } from 'node:net';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from '@jest/globals';
import WebSocket from 'ws';
import { socketTrouble } from '../../src/core/runtime/unix-socket.ts';
import { testIf } from '../support/conditions.ts';
import { HttpGateway, KEY } from '../support/http-gateway.ts';
import { ABSENT, temporaryFolder } from '../support/temporary.ts';

const root = temporaryFolder();
const rawKey = Buffer.from(KEY).toString('latin1');
const LIST = '/api/v1/messages';
const gateways: HttpGateway[] = [];
afterEach(async () => {
  for (const gateway of gateways.splice(0)) await gateway.close();
});

function newPath(): string {
  return join(mkdtempSync(join(root, 'f -')), 'postern.sock');
}

async function open(path: string, options: Parameters<typeof HttpGateway.start>[0] = {}): Promise<HttpGateway> {
  const gateway = await HttpGateway.start(options);
  gateways.push(gateway);
  await gateway.server.listenOnSocket(path);
  return gateway;
}

async function ask(socketPath: string, path: string, headers: Record<string, string> = {}) {
  const request = httpRequest({ socketPath, path, agent: false, headers });
  request.end();
  const [response] = (await once(request, 'response')) as [IncomingMessage];
  let text = '';
  for await (const chunk of response) text += String(chunk);
  return { status: response.statusCode, headers: response.headers, text };
}

const keyed = { 'x-api-key': rawKey };

describe('the Unix socket', () => {
  test('answers as the port does, for its owner alone, and is gone when the service has ended', async () => {
    const path = newPath();
    const gateway = await open(path);
    expect(lstatSync(path).mode & 0o777).toBe(0o600);
    expect((await ask(path, LIST, keyed)).text).toBe((await gateway.get(LIST)).text);
    expect((await ask(path, LIST)).status).toBe(401);
    expect((await ask(path, '/api/v1/health')).status).toBe(200);
    await gateway.close();
    expect(existsSync(path)).toBe(false);
  });

  test('is never open to others, whatever the umask is', async () => {
    const path = newPath();
    const before = process.umask(0);
    try {
      const gateway = await HttpGateway.start();
      gateways.push(gateway);
      const opened = gateway.server.listenOnSocket(path);
      const { mode } = lstatSync(path);
      await opened;
      expect(mode & 0o777).toBe(0o600);
      expect(process.umask()).toBe(0);
    } finally {
      process.umask(before);
    }
  });

  test('counts its requests in the one limit', async () => {
    const path = newPath();
    const gateway = await open(path, { settings: { rateLimitPerMinute: 2 } });
    expect((await ask(path, LIST, keyed)).status).toBe(200);
    expect((await gateway.get(LIST)).status).toBe(200);
    expect((await ask(path, LIST, keyed)).status).toBe(429);
    expect((await gateway.get(LIST)).status).toBe(429);
  });

  test.each([
    ['another Host', { host: '127.0.0.1' }, 'host_not_allowed'],
    ['a Host that the configuration allows at the port', { host: 'mini.example' }, 'host_not_allowed'],
    ['an Origin', { origin: 'http://localhost' }, 'origin_not_allowed'],
    ['an Origin that is listed', { origin: 'https://home.example' }, 'origin_not_allowed'],
    ['a request of a browser', { 'sec-fetch-site': 'same-origin' }, 'origin_not_allowed'],
  ])('refuses %s with 403', async (_, headers, code) => {
    const path = newPath();
    const settings = { allowedHosts: ['mini.example'], allowedOrigins: ['https://home.example'] };
    await open(path, { settings });
    const answer = await ask(path, LIST, { ...keyed, ...headers });
    expect({ status: answer.status, code: (JSON.parse(answer.text) as { code: unknown }).code }).toEqual({
      status: 403,
      code,
    });
    expect(answer.headers['access-control-allow-origin']).toBeUndefined();
  });

  test('takes WebSockets with the key, and none with an Origin', async () => {
    const path = newPath();
    await open(path, {
      acceptWebSocket: (_, socket) => void socket.end('HTTP/1.1 418 x\r\nContent-Length: 0\r\n\r\n'),
    });
    const status = async (query: string, headers = {}): Promise<number> => {
      const socket = new WebSocket(`ws://localhost/api/v1/ws${query}`, {
        headers,
        createConnection: () => connect(path),
      });
      socket.on('error', () => {});
      const [, response] = (await once(socket, 'unexpected-response')) as [unknown, IncomingMessage];
      response.resume();
      return response.statusCode ?? 0;
    };
    const query = `?api_key=${encodeURIComponent(KEY)}`;
    expect(await status(query)).toBe(418);
    expect(await status('?api_key=wrong')).toBe(401);
    expect(await status(query, { origin: 'http://localhost' })).toBe(403);
    expect(await status(query, { host: 'localhost:3001' })).toBe(403);
  });

  test("links the menu's text to the port, where a browser can go", async () => {
    const path = newPath();
    const gateway = await open(path);
    expect((await ask(path, '/api/v1/status?as=xbar', keyed)).text).toContain(`href=${gateway.url}/docs`);
  });
});

describe('what has the name of the socket', () => {
  test('is replaced when it is a socket that nobody listens on any more', async () => {
    const path = newPath();
    const script = `require('node:net').createServer().listen(${JSON.stringify(path)}, () => process.kill(process.pid, 'SIGKILL'))`;
    spawnSync(process.execPath, ['-e', script]);
    expect(lstatSync(path).isSocket()).toBe(true);
    await open(path);
    expect((await ask(path, LIST, keyed)).status).toBe(200);
  });

  const isRoot = process.getuid?.() === 0;
  testIf(isRoot, 'needs root')('is replaced when it is the socket of another user', async () => {
    const path = newPath();
    const other = createServer().listen(path);
    await once(other, 'listening');
    chownSync(path, 65_534, 65_534);
    expect(socketTrouble(path)).toContain('and its folder belong to different users');
    await open(path);
    expect(socketTrouble(path)).toBeUndefined();
    expect((await ask(path, LIST, keyed)).status).toBe(200);
    other.close();
  });

  test.each([
    ['a file', (path: string) => writeFileSync(path, 'mine')],
    ['a folder', (path: string) => mkdirSync(path)],
    ['a named pipe', (path: string) => spawnSync('mkfifo', [path])],
    ['a symbolic link', (path: string) => symlinkSync(ABSENT, path)],
  ])('stays when it is %s, and is named', async (kind, put) => {
    const path = newPath();
    put(path);
    const { ino } = lstatSync(path);
    const gateway = await HttpGateway.start();
    gateways.push(gateway);
    const sentence = `${path} is ${kind}, not a socket: remove it and restart Postern.`;
    await expect(gateway.server.listenOnSocket(path)).rejects.toThrow(sentence);
    expect(socketTrouble(path)).toBe(sentence);
    expect(lstatSync(path).ino).toBe(ino);
    expect((await gateway.get(LIST)).status).toBe(200);
  });

  test.each([0o777, 0o770, 0o1777])('is not made in a folder of mode %o, which others may write to', async (mode) => {
    const path = newPath();
    await open(path);
    const folder = join(path, '..');
    chmodSync(folder, mode);
    const gateway = await HttpGateway.start();
    gateways.push(gateway);
    await expect(gateway.server.listenOnSocket(path)).rejects.toThrow('Other users of this machine can write to');
    expect(socketTrouble(path)).toBe(`Other users of this machine can write to ${folder}. Run: chmod 700 '${folder}'`);
  });
});
