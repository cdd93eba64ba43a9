import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { createUser } from '@nats-io/nkeys';
import { checkConfigText } from '../../src/core/config/config-file.ts';
import { processEnvironment } from '../../src/core/config/environment.ts';
import { systemClock } from '../../src/core/runtime/clock.ts';
import { commandRunner } from '../../src/core/runtime/command.ts';
import { managerOf } from '../../src/features/fleet/protocol/connect-once.ts';
import { FleetConnection } from '../../src/features/fleet/protocol/connection.ts';
import { agentKeys, Envelope, hubKeys } from '../../src/features/fleet/protocol/envelope.ts';
import { hubName } from '../../src/features/fleet/protocol/layout.ts';
import { serverAddress } from '../../src/features/fleet/setup/addresses.ts';
import { FleetFolder } from '../../src/features/fleet/setup/fleet-folder.ts';
import { fleetReport } from '../../src/features/fleet/setup/fleet-report.ts';
import { connectOperator } from '../../src/features/fleet/setup/operator-connection.ts';
import { eventually, waitFor } from '../support/eventually.ts';
import { FleetServer, newFleet } from '../support/fleet-server.ts';
import { HubFixture } from '../support/hub-fixture.ts';
import { collectingLog } from '../support/log.ts';
import { describeWithNats } from '../support/nats-server.ts';
import { postern } from '../support/postern.ts';
import { StandInAgent } from '../support/stand-in-agent.ts';
import { temporaryFolder } from '../support/temporary.ts';

const operator = (dir: string) => connectOperator(FleetFolder.open(dir), 'operator');
const base = temporaryFolder();
let count = 0;
const newFolder = (): string => join(base, `fleet-${++count}`);

/** Parses the section of config.toml that a command printed. */
function sectionIn(printed: string): unknown {
  const text = printed.slice(printed.indexOf('\n[fleet]\n') + 1).split('\n\n')[0] ?? '';
  const checked = checkConfigText(
    `${text}\n[auth]\napi_key = "0123456789abcdef"`,
    base,
    processEnvironment({ HOME: '/Users/ana' }),
  );
  return 'mistakes' in checked ? checked.mistakes : checked.config.fleet;
}

function filesBelow(folder: string): readonly string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));
}

test.each([
  ['n1.example.net', 'tls://n1.example.net:4222'],
  ['n1.example.net:443', 'tls://n1.example.net:443'],
  ['tls://10.0.0.3', 'tls://10.0.0.3:4222'],
  ['localhost', 'nats://localhost:4222'],
  ['::1', 'nats://[::1]:4222'],
  ['[fd00::1]:80', 'tls://[fd00::1]:80'],
  ['nats://n1.example.net', undefined],
  ['http://n1.example.net', undefined],
  ['me:secret@n1.example.net', undefined],
  ['n1.example.net/x', undefined],
  ['', undefined],
])('the address %s of a server is %s', (written, url) => {
  expect(serverAddress(written)?.url).toBe(url);
});

describe('postern fleet init and add', () => {
  test('write keys that only their owner can read, and sections that are valid in config.toml', async () => {
    const dir = newFolder();
    const init = await postern(['fleet', 'init', '--dir', dir]);
    const add = await postern(['fleet', 'add', 'm7', '--dir', dir, '--offline']);
    expect([init.exitCode, add.exitCode, add.stderr]).toEqual([0, 0, '']);
    for (const file of filesBelow(dir)) {
      expect([file, (statSync(file).mode & 0o777).toString(8)]).toEqual([file, '600']);
    }
    expect(sectionIn(init.stdout)).toMatchObject({
      servers: ['nats://127.0.0.1:4222'],
      content: 'plain',
      keyFile: join(dir, 'hub/nats.key'),
    });
    expect(sectionIn(add.stdout)).toMatchObject({
      mac: 'm7',
      keyFile: '/Users/ana/Library/Application Support/Postern/fleet/nats.key',
    });
    const printed = init.stdout + add.stdout;
    const secrets = filesBelow(dir)
      .filter((file) => file.endsWith('.key'))
      .map((file) => readFileSync(file, 'utf8').trim());
    expect(secrets).toHaveLength(7);
    expect(secrets.filter((secret) => printed.includes(secret))).toEqual([]);
    expect(secrets.filter((secret) => readFileSync(join(dir, 'server/users.conf'), 'utf8').includes(secret))).toEqual(
      [],
    );
  });

  test('never replace existing keys', async () => {
    const dir = newFolder();
    await postern(['fleet', 'init', '--dir', dir]);
    await postern(['fleet', 'add', 'm7', '--dir', dir, '--offline']);
    const before = filesBelow(dir).map((file) => readFileSync(file, 'utf8'));
    const [again, twice] = [
      await postern(['fleet', 'init', '--dir', dir]),
      await postern(['fleet', 'add', 'm7', '--dir', dir]),
    ];
    expect([again.exitCode, twice.exitCode]).toEqual([65, 65]);
    expect(twice.stderr).toContain('postern fleet adopt m7');
    expect(filesBelow(dir).map((file) => readFileSync(file, 'utf8'))).toEqual(before);
  });

  test.each([
    [['init', '--server', 'nats://n1.example.net'], 65, 'TLS is required elsewhere'],
    [['init', '--server-version', 'latest'], 64, 'a version such as 2.12'],
    [['add', 'M~7'], 64, 'lowercase letters'],
    [['init', '--max-bytes', '5X'], 64, 'at least 1M'],
    [['renew'], 65, 'There is no fleet'],
    [['revoke', 'm7'], 65, 'There is no fleet'],
  ])('fleet %j says what is wrong', async ([command = '', ...args], exitCode, sentence) => {
    const ended = await postern(['fleet', command, ...args, '--dir', newFolder()]);
    expect(ended.exitCode).toBe(exitCode);
    expect(ended.stderr).toContain(sentence);
  });
});

test('a content key changes in three steps, and after each step both sides can read each other', async () => {
  const dir = newFolder();
  const folder = await newFleet(dir, ['m7']);
  const read = (file: string): string => readFileSync(join(dir, file), 'utf8');
  const stages = [[read('hub/content.key'), read('macs/m7/content.key')]];
  for (const step of ['added', 'switched', 'ended']) {
    expect(folder.rotateContentKey()).toBe(step);
    stages.push([read('hub/content.key'), read('macs/m7/content.key')]);
  }
  for (const [stage, [hubText = '']] of stages.entries()) {
    // A Mac may get its file before or after the hubs.
    for (const [, macText = ''] of stages.slice(Math.max(0, stage - 1), stage + 2)) {
      const [hub, mac] = [new Envelope(hubKeys(hubText)), new Envelope(agentKeys(macText))];
      expect(hub.open('m7', ['a'], mac.seal('m7', ['a'], Buffer.from('text')))).toEqual(Buffer.from('text'));
      expect(mac.open('m7', ['a'], hub.seal('m7', ['a'], Buffer.from('text')))).toEqual(Buffer.from('text'));
    }
  }
  expect(stages[3]?.[0]).not.toBe(stages[0]?.[0]);
});

describeWithNats('nats-server with TLS', () => {
  const dir = newFolder();
  let folder: FleetFolder;
  let server: FleetServer;
  const open: FleetConnection[] = [];

  beforeAll(async () => {
    // Set up as on another machine, because there is no TLS on loopback.
    const elsewhere = { host: '127.0.0.1', port: 4222, isLoopback: false, url: 'tls://127.0.0.1:4222' };
    const settings = {
      servers: [elsewhere],
      serverVersion: '2.9',
      content: 'encrypted',
      hasCertificates: true,
    } as const;
    await FleetFolder.create(dir, settings, commandRunner({ PATH: process.env.PATH }));
    server = await FleetServer.start(dir, 'tls');
    folder = FleetFolder.open(dir);
  });

  afterAll(async () => {
    for (const connection of open) await connection.close();
    await server.stop();
  });

  const connect = (url: string, caFile: string): FleetConnection => {
    const settings = { servers: [url], keyFile: join(folder.memberFolder('hub'), 'nats.key'), caFile };
    const connection = new FleetConnection(settings, {
      clock: systemClock,
      log: collectingLog([]),
      name: hubName('h1'),
    });
    open.push(connection);
    return connection;
  };

  test('a hub with the certificate of the authority can connect', async () => {
    const connection = connect(server.url, join(dir, 'hub/ca.pem'));
    await eventually(() => expect(connection.trouble).toBeUndefined());
  });

  test('hubs can connect with renewed certificates too, and status says when these expire', async () => {
    const own = (file: string): string => readFileSync(join(dir, 'server/tls', file), 'utf8');
    const [authority, before] = [own('ca.pem'), own('server.pem')];
    const renewed = await postern(['fleet', 'renew', '--dir', dir]);
    const year = new Date(Date.now() + 825 * 86_400_000).getUTCFullYear();
    expect([renewed.exitCode, renewed.stdout]).toEqual([
      0,
      expect.stringContaining(`server.pem is valid until ${year}`),
    ]);
    expect([own('ca.pem') === authority, own('server.pem') === before]).toEqual([true, false]);
    server.reload();
    const connection = connect(server.url, join(dir, 'hub/ca.pem'));
    await eventually(() => expect(connection.trouble).toBeUndefined());
    const { certificates } = await fleetReport(FleetFolder.open(dir), Date.now());
    expect(certificates.map(({ file }) => file)).toEqual(['tls/server.pem', 'tls/ca.pem']);
    const late = await fleetReport(FleetFolder.open(dir), Date.now() + 800 * 86_400_000);
    expect(late.problems.filter((problem) => problem.includes('renew'))).toEqual([
      expect.stringMatching(
        /^The certificate tls\/server\.pem expires in 2\d days\. Renew it with: postern fleet renew$/,
      ),
    ]);
  });

  test('without that certificate, or without TLS, a client sends nothing to the server', async () => {
    const untrusted = connect(server.url, '');
    const plain = connect(server.url.replace('tls:', 'nats:'), '');
    await waitFor(() => untrusted.trouble !== 'no connection has been tried yet');
    await waitFor(() => plain.trouble !== 'no connection has been tried yet');
    expect([untrusted.isConnected, plain.isConnected]).toEqual([false, false]);
    expect(untrusted.trouble).toMatch(/certificate/);
  });
});

describeWithNats('postern fleet init --connect and status', () => {
  test('create missing streams, and report problems of the servers', async () => {
    const dir = newFolder();
    await newFleet(dir, ['m7']);
    const server = await FleetServer.start(dir);
    try {
      const before = await postern(['fleet', 'status', '--dir', dir, '--json']);
      expect((JSON.parse(before.stdout) as { problems: string[] }).problems).toEqual(
        expect.arrayContaining([
          expect.stringMatching(/^Missing: .*KV_webhooks\./),
          expect.stringContaining('No queue of sends for m7'),
        ]),
      );
      for (const hours of ['48', '24']) {
        expect(await postern(['fleet', 'init', '--connect', '--dir', dir, '--keep-hours', hours])).toMatchObject({
          exitCode: 0,
          stderr: '',
        });
      }
      expect(await postern(['fleet', 'init', '--connect', '--dir', dir, '--max-bytes', '5M'])).toMatchObject({
        exitCode: 0,
      });
      const nc = await operator(dir);
      const { config } = await (await managerOf(nc)).streams.info('EV');
      await nc.close();
      expect([config.max_bytes, config.max_age / 3_600_000_000_000]).toEqual([5_000_000, 24]);
      const after = await postern(['fleet', 'status', '--dir', dir]);
      // Missing features of an old server are warnings, not problems.
      expect([after.exitCode, after.stdout]).toEqual([0, expect.stringContaining('\n- A power cut may lose')]);
      expect(after.stdout).toMatch(/m7 +unknown +never +never +- +0 +- +-\n/);
      expect(after.stdout).toContain('postern-1, nats-server');
      const hub = await HubFixture.start([server.url], {
        key_file: join(dir, 'hub/nats.key'),
        content: 'encrypted',
        content_key_file: join(dir, 'hub/content.key'),
      });
      const agent = await StandInAgent.in(FleetFolder.open(dir), server.url, 'm7');
      const macs = async (): Promise<readonly string[]> => ((await hub.client.status()).macs ?? []).map(({ id }) => id);
      await agent.announce();
      await eventually(async () => expect(await macs()).toEqual(['m7']));
      expect(await postern(['fleet', 'revoke', 'm7', '--dir', dir])).toMatchObject({ exitCode: 0, stderr: '' });
      await eventually(async () => expect(await macs()).toEqual([]));
      // The Mac keeps working until the servers have read users.conf again.
      await agent.announce();
      await eventually(async () => expect(await macs()).toEqual(['m7']));
      expect(await postern(['fleet', 'revoke', 'm7', '--dir', dir])).toMatchObject({ exitCode: 0, stderr: '' });
      await eventually(async () => expect(await macs()).toEqual([]));
      expect(await postern(['fleet', 'revoke', 'm7', '--dir', dir])).toMatchObject({ exitCode: 65 });
      await agent.close();
      await hub.dispose();
      expect((await postern(['fleet', 'status', '--dir', dir])).stderr).toContain('There is no Mac yet');
    } finally {
      await server.stop();
    }
  });

  test('postern doctor says what prevents a Mac from joining its fleet', async () => {
    const dir = newFolder();
    await newFleet(dir, ['m7', 'm8']);
    const server = await FleetServer.start(dir);
    const home = join(base, 'mac');
    mkdirSync(home, { mode: 0o700 });
    const findings = async (keyFile: string): Promise<readonly string[]> => {
      const config = [
        '[auth]\napi_key = "0123456789abcdef"',
        `[fleet]\nservers = ["${server.url}"]\nmac = "m7"\nkey_file = "${keyFile}"`,
        'content = "plain"\n',
      ];
      writeFileSync(join(home, 'config.toml'), config.join('\n'), { mode: 0o600 });
      const { stdout } = await postern(['doctor', '--config-dir', home, '--json']);
      const { findings: all } = JSON.parse(stdout) as { findings: { name: string; state: string; sentence: string }[] };
      return all.filter(({ name }) => name.startsWith('fleet')).map(({ name, state }) => `${name} ${state}`);
    };
    try {
      const own = join(dir, 'macs/m7/nats.key');
      expect(await findings(join(dir, 'none'))).toEqual(['fleet_files problem']);
      expect(await findings(own)).toEqual([
        'fleet_files ok',
        'fleet_servers ok',
        'fleet_streams problem',
        'fleet_streams problem',
      ]);
      await postern(['fleet', 'init', '--connect', '--dir', dir]);
      expect(await findings(own)).toEqual(['fleet_files ok', 'fleet_servers ok']);
      writeFileSync(join(home, 'other.key'), createUser().getSeed(), { mode: 0o644 });
      expect(await findings(join(home, 'other.key'))).toEqual(['fleet_files warning', 'fleet_servers problem']);
    } finally {
      await server.stop();
    }
  });

  test('say that no server can be used, and which addresses were tried', async () => {
    const dir = newFolder();
    await postern(['fleet', 'init', '--dir', dir, '--server', '127.0.0.1:9']);
    const ended = await postern(['fleet', 'status', '--dir', dir]);
    expect(ended.exitCode).toBe(69);
    expect(ended.stderr).toContain('nats://127.0.0.1:9');
  });
});
