import { X509Certificate } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ConnectionOptions as TlsOptions } from 'node:tls';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { PosternClient } from '../../src/client/postern-client.ts';
import { commandRunner } from '../../src/core/runtime/command.ts';
import { accessOptions } from '../../src/features/fleet/protocol/connection.ts';
import { membershipLine, parseMembership } from '../../src/features/fleet/protocol/membership.ts';
import { makeCertificates } from '../../src/features/fleet/setup/certificates.ts';
import { appleDate } from '../../src/features/simulator/chat-database.ts';
import { ChatFixture } from '../support/chat-fixture.ts';
import { waitFor } from '../support/eventually.ts';
import { describeWithNats, FleetServer } from '../support/fleet-server.ts';
import { type Ended, postern, startPostern } from '../support/postern.ts';
import { freePort, KEY } from '../support/service.ts';
import { temporaryFolder } from '../support/temporary.ts';

const NAMES = fileURLToPath(new URL('../support/fleet-names.cjs', import.meta.url));
const ENV = { NODE_OPTIONS: `--require ${NAMES}` };

/** Runs a command where the names of the servers are known. */
const run = (args: readonly string[], input = ''): Promise<Ended> => postern(args, { env: ENV, input });

describeWithNats('a fleet whose server has a certificate', () => {
  let dir: string;
  let port: number;
  let server: FleetServer;
  let line: string;

  beforeAll(async () => {
    port = await freePort();
    dir = await newFleet(`n1.fleet.test:${port}`);
    server = new FleetServer(dir);
    await server.start();
    const added = await run(['fleet', 'add', 'm1', '--dir', dir]);
    expect(added).toMatchObject({ exitCode: 0, stderr: expect.not.stringContaining('cannot be used') });
    line = added.stdout;
    server.reload();
    await waitFor(async () => (await joined(line)).stdout.includes('let it in. Restart'));
  });
  afterAll(() => server.stop());

  test('set up as the documentation says, carries events and requests between a Mac and a hub', async () => {
    const mac = newFolder(`[backend]\nchat_db_path = "${chatDb()}"\nosascript_path = "/usr/bin/false"\n`);
    await joined(line, mac);
    const hub = newFolder();
    expect(
      (await run(['fleet', 'join', '--hub', '--config-dir', hub, '--file', join(dir, 'hub.line')])).stdout,
    ).toContain(`let it in. Start or restart it: postern hub --config-dir ${hub}`);
    const running = [['serve', mac] as const, ['hub', hub] as const].map(([command, folder]) =>
      startPostern([command, '--config-dir', folder], { env: ENV }),
    );
    const [macUrl, hubUrl] = await Promise.all(
      running.map((one) => waitFor(() => /"url":"(http:[^"]+)"/.exec(one.stdout + one.stderr)?.[1])),
    );
    const client = new PosternClient({ url: hubUrl ?? '', key: KEY });
    for await (const { data } of client.listen({ after: '0' })) {
      expect(data).toMatchObject({ body: 'over TLS', mac: 'm1' });
      break;
    }
    const passed = await waitFor(async () => {
      const answer = await fetch(`${hubUrl}/macs/m1/api/v1/messages?limit=1`, { headers: { 'x-api-key': KEY } });
      return answer.status === 200 && answer.json();
    });
    expect(passed).toMatchObject([{ body: 'over TLS' }]);
    const status = await fetch(`${macUrl}/api/v1/status`, { headers: { 'x-api-key': KEY } });
    const { fleet } = (await status.json()) as { fleet: { certificate_ends: string } };
    const days = (Date.parse(fleet.certificate_ends) - Date.now()) / 86_400_000;
    expect(Math.round(days)).toBe(825);
    const examined = await run(['doctor', '--config-dir', hub]);
    expect(examined).toMatchObject({ exitCode: 0, stdout: expect.stringContaining('The hub reads the events') });
    for (const { child } of running) child.kill();
    await Promise.all(running.map(({ ended }) => ended));
    const desk = await run(['fleet', 'status', '--dir', dir, '--json']);
    expect(JSON.parse(desk.stdout)).toMatchObject({
      problems: ['m1 does not answer.'],
      certificates: [{}, { file: 'tls/server.pem' }],
    });
  });

  test('is refused by a machine that trusts another authority', async () => {
    const { authority } = await otherFleet();
    await refuses({ ca: authority }, /certificate/, 'The servers have other certificates than the line of the fleet.');
  });

  test('is refused under another name', async () => {
    await refuses({ servers: [`tls://n2.fleet.test:${port}`] }, /altnames/, 'The servers have other certificates');
  });

  test('is refused if it speaks without encryption', async () => {
    const plain = await newFleet(`127.0.0.1:${await freePort()}`);
    const open = new FleetServer(plain);
    await open.start();
    const [url = ''] = parseMembership(readFileSync(join(plain, 'hub.line'), 'utf8')).servers;
    await refuses({ servers: [url.replace('nats://127.0.0.1', 'tls://n1.fleet.test')] }, /tls/, 'other certificates');
    await open.stop();
  });

  test('keeps its authority when the certificates are renewed', async () => {
    const before = readFileSync(join(dir, 'server/tls/server.pem'), 'utf8');
    expect((await run(['fleet', 'renew', '--dir', dir])).stdout).toMatch(/tls\/server\.pem is valid until 20/);
    expect(readFileSync(join(dir, 'server/tls/server.pem'), 'utf8')).not.toBe(before);
    server.reload();
    expect((await joined(line)).stdout).toContain('let it in. Restart');
  });

  /** Joins with the line, but for these changes, and expects what the command and doctor say. */
  async function refuses(changes: object, reason: RegExp, advice: string): Promise<void> {
    const folder = newFolder();
    const changed = membershipLine({ ...parseMembership(line), ...changes });
    const { stdout } = await joined(changed, folder);
    expect(/do not let it in yet \((.*)\)\. Have/.exec(stdout)?.[1]).toMatch(reason);
    expect((await run(['doctor', '--config-dir', folder])).stdout).toContain(advice);
  }

  function joined(text: string, folder = newFolder()): Promise<Ended> {
    return run(['fleet', 'join', '--config-dir', folder], text);
  }
});

test('a server at an IP address needs a certificate for one of the addresses in the line', async () => {
  const folder = temporaryFolder();
  const [authority, server] = ['ca', 'server'].map((name) => ({
    certificate: join(folder, `${name}.pem`),
    key: join(folder, `${name}.key`),
  }));
  if (authority === undefined || server === undefined) throw new Error('unreachable');
  await makeCertificates(authority, [{ ...server, host: '10.0.0.2' }], folder, commandRunner(process.env));
  const certificate = new X509Certificate(readFileSync(server.certificate)).toLegacyObject();
  const refusal = (...servers: readonly string[]) => {
    const { tls } = accessOptions({ servers, seed: `SU${'A'.repeat(56)}`, ca: undefined });
    // The NATS client passes no name for an address.
    return (tls as TlsOptions).checkServerIdentity?.('', certificate);
  };
  expect(refusal('tls://10.0.0.1:4222', 'tls://10.0.0.2:4222')).toBeUndefined();
  expect(refusal('tls://10.0.0.1:4222')?.message).toMatch(/altnames/);
  expect(refusal('tls://n1.example.net:4222')?.message).toMatch(/altnames/);
});

async function newFleet(server: string): Promise<string> {
  const dir = join(temporaryFolder(), 'fleet');
  const made = await run(['fleet', 'init', '--dir', dir, '--server', server, '--server-version', '2.9']);
  expect(made).toMatchObject({ exitCode: 0, stderr: '' });
  return dir;
}

async function otherFleet(): Promise<{ readonly authority: string }> {
  const dir = await newFleet('n1.fleet.test');
  return { authority: readFileSync(join(dir, 'server/tls/ca.pem'), 'utf8') };
}

function chatDb(): string {
  const path = join(temporaryFolder(), 'chat.db');
  const database = new ChatFixture(path);
  database.chat('any;-;+15550100', ['+15550100']);
  database.message({ chat: 1, handle_id: 1, text: 'over TLS', guid: 'G-1', date: appleDate(Date.now()) });
  database.close();
  return path;
}

/** Creates the folder of a machine that Postern has been installed on. */
function newFolder(more = ''): string {
  const folder = temporaryFolder();
  const text = `[server]\nport = 0\n\n[auth]\napi_key = "${KEY}"\n\n${more}`;
  writeFileSync(join(folder, 'config.toml'), text, { mode: 0o600 });
  return folder;
}
