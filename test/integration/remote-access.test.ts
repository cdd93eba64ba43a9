import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { request } from 'node:https';
import { join } from 'node:path';
import { connect, type TLSSocket } from 'node:tls';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect } from '@jest/globals';
import WebSocket from 'ws';
import { SimulatedMac } from '../../src/features/simulator/mac.ts';
import { testIf } from '../support/conditions.ts';
import { waitFor } from '../support/eventually.ts';
import { freePort, KEY, Listener, Service } from '../support/service.ts';
import { BARE_ENVIRONMENT, temporaryFolder } from '../support/temporary.ts';

const REPOSITORY = fileURLToPath(new URL('../..', import.meta.url));
const NAME = 'messages.example.net';
const isThere = spawnSync('caddy', ['version']).status === 0;
const run = testIf(isThere, 'needs caddy');

const root = temporaryFolder();
let mac: SimulatedMac;
let service: Service;
let caddy: ChildProcess | undefined;
let port: number;

beforeAll(async () => {
  mac = new SimulatedMac({ dir: join(root, 'mac'), moduleFolder: join(REPOSITORY, 'dist/src/features/simulator/') });
  await mac.start();
  service = await Service.here({ chatDbPath: mac.chatDbPath, osascriptPath: mac.osascriptPath });
  port = await freePort();
  if (isThere) await startCaddy();
});
afterAll(async () => {
  if (caddy !== undefined && caddy.exitCode === null) {
    caddy.kill('SIGKILL');
    await once(caddy, 'exit');
  }
  await service.dispose();
  await mac.stop();
});

/** Starts Caddy with the page's block, and with the test's own certificates and ports. */
async function startCaddy(): Promise<void> {
  const page = readFileSync(join(REPOSITORY, 'docs/remote-access.md'), 'utf8');
  const block = /^messages\.example\.net \{\n.*?^\}/ms.exec(page)?.[0] ?? '';
  expect(block).toContain('reverse_proxy 127.0.0.1:3001');
  const home = join(root, 'caddy');
  mkdirSync(home);
  writeFileSync(
    join(home, 'Caddyfile'),
    `{\n\tlocal_certs\n\tskip_install_trust\n\tadmin off\n\thttp_port ${await freePort()}\n\thttps_port ${port}\n}\n` +
      block.replace('127.0.0.1:3001', `127.0.0.1:${service.port}`),
  );
  caddy = spawn('caddy', ['run', '--config', join(home, 'Caddyfile')], {
    stdio: 'ignore',
    env: { ...BARE_ENVIRONMENT, HOME: home, XDG_DATA_HOME: home, XDG_CONFIG_HOME: home },
  });
  await waitFor(() => get('/health').then(() => true));
}

/** Connects to Caddy over TLS as if the DNS had led there. Its certificate is self-signed. */
function toCaddy(): TLSSocket {
  return connect({ host: '127.0.0.1', port, servername: NAME, rejectUnauthorized: false });
}

async function get(path: string): Promise<{ readonly status: number | undefined; readonly code: unknown }> {
  const asked = request(`https://${NAME}/api/v1${path}`, { createConnection: toCaddy, headers: { 'x-api-key': KEY } });
  asked.end();
  const [response] = (await once(asked, 'response')) as [IncomingMessage];
  let body = '';
  for await (const chunk of response) body += String(chunk);
  return { status: response.statusCode, code: (JSON.parse(body) as { code?: unknown }).code };
}

run(`behind Caddy it answers to the name in allowed_hosts, and to no other`, async () => {
  expect(await get('/conversations')).toEqual({ status: 403, code: 'host_not_allowed' });
  await service.stop();
  service.configure({ server: { allowed_hosts: [NAME] } });
  await service.launch();
  expect(await get('/conversations')).toEqual({ status: 200, code: undefined });

  const socket = new WebSocket(`wss://${NAME}/api/v1/ws?api_key=${KEY}`, { createConnection: toCaddy });
  const listener = new Listener(socket);
  await once(socket, 'open');
  await mac.command({ do: 'receive', from: '+15550100', text: 'through the proxy' });
  await waitFor(() => listener.events.some(({ data }) => data.body === 'through the proxy'));
  socket.terminate();
});
