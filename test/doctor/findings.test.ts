import { appendFileSync, chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from '@jest/globals';
import { createUser } from '@nats-io/nkeys';
import { install } from '../../installer/install.ts';
import type { Diagnostics } from '../../src/client/diagnostics-types.ts';
import type { Finding } from '../../src/core/model/finding.ts';
import { isOnLocalNetwork, LOCAL_NETWORK, localNetworkAdvice } from '../../src/core/model/local-network.ts';
import type { StatusReport } from '../../src/core/model/status.ts';
import { openSqlite } from '../../src/core/runtime/sqlite.ts';
import { failureSentence } from '../../src/core/webhooks/delivery-errors.ts';
import { type DoctorOptions, runDoctor } from '../../src/features/doctor/cli/doctor-command.ts';
import { diagnosticsExample } from '../../src/features/doctor/document.ts';
import { membershipLine } from '../../src/features/fleet/protocol/membership.ts';
import { FEATURES } from '../../src/features/list.ts';
import { ChatFixture } from '../support/chat-fixture.ts';
import { closedAfterEach } from '../support/closed-after-each.ts';
import { PLAIN } from '../support/plain-context.ts';
import { StandInMac } from '../support/stand-in-mac.ts';

const startMac = closedAfterEach(() => StandInMac.start());
const servers: Server[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) server.close();
});

async function newMac(): Promise<StandInMac> {
  const mac = await startMac();
  mkdirSync(mac.layout.support, { recursive: true, mode: 0o700 });
  writeFileSync(mac.layout.config, `[server]\nport = ${mac.port}\n[auth]\napi_key = "cardboard"\n`, { mode: 0o600 });
  return mac;
}

/** Runs doctor on this Mac. Returns its exit code and what it prints. */
async function doctor(mac: StandInMac, options: DoctorOptions, terminal: { isTerminal: boolean; columns?: number }) {
  const said: string[] = [];
  const stdout = (...lines: readonly string[]): void => void said.push(...lines);
  const environment = { env: mac.environment, platform: 'darwin', homeFolder: mac.home, features: FEATURES };
  const context = {
    environment,
    features: FEATURES,
    version: '0.1.0',
    stdout,
    stderr: stdout,
    ...PLAIN,
    ...terminal,
  };
  const code = await runDoctor(options, context, mac.machine());
  return { code, text: said.join('\n') };
}

async function examined(
  mac: StandInMac,
  prompt = false,
  options: DoctorOptions = {},
): Promise<{ code: number; of: (name: string) => Finding | undefined; findings: Finding[] }> {
  const { code, text } = await doctor(mac, { json: true, prompt, ...options }, { isTerminal: false });
  const { findings } = JSON.parse(text) as { findings: Finding[] };
  return { code, findings, of: (name) => findings.find((found) => found.name === name) };
}

const report: StatusReport = {
  version: '0.1.0',
  uptime_s: 5,
  backend: { connected: true, message: null },
  newest_row: 12,
  newest_event: { row_id: 12, age_s: 1 },
  webhooks: [],
  permissions: [
    { name: 'full_disk_access', state: 'granted', detail: 'May be read.' },
    { name: 'automation', state: 'denied', detail: 'May not be controlled.' },
  ],
};

function serve(
  mac: StandInMac,
  status: StatusReport,
  { isBusy = false, accounts = [] as Diagnostics['accounts'], shapes = null as Diagnostics['data_shapes'] } = {},
): Promise<string[]> {
  const asked: string[] = [];
  const server = createServer((request, response) => {
    asked.push(`${request.method} ${request.url}`);
    if (isBusy) return void response.writeHead(429, { 'retry-after': '9' }).end();
    const bodies: Readonly<Record<string, unknown>> = {
      '/api/v1/health': { status: 'ok', backend: status.backend },
      '/api/v1/diagnostics?seconds=0': { ...diagnosticsExample, data_shapes: shapes },
      '/api/v1/diagnostics?seconds=0&ask=messages': { ...diagnosticsExample, accounts },
    };
    response.writeHead(200).end(JSON.stringify(bodies[request.url ?? ''] ?? status));
  });
  servers.push(server);
  return new Promise((resolve) => void server.listen(join(mac.layout.support, 'postern.sock'), () => resolve(asked)));
}

describe('doctor', () => {
  test('works when nothing is installed or running, and says what to do', async () => {
    const { code, of } = await examined(await newMac());
    expect(code).toBe(1);
    expect(of('agent')).toMatchObject({ state: 'problem', what_to_do: 'Run: make install' });
    expect(of('service')).toMatchObject({ state: 'problem' });
    expect(of('port')).toMatchObject({ state: 'ok' });
    expect(of('configuration')).toMatchObject({ state: 'ok' });
    expect(of('chat_database')).toMatchObject({ state: 'problem' });
  });

  test.each([
    ['is damaged', 'state.db', 'no database', 'file is not a database'],
    ['is missing a table', 'state.db', 'PRAGMA user_version = 1', 'it has no column'],
    ['is from a newer version', 'state.db', 'PRAGMA user_version = 9999', 'a newer version of Postern'],
    ['was half restored', 'restore.unfinished', '', 'was interrupted'],
  ])('of a stopped service names a state that %s', async (_what, file, content, reason) => {
    const mac = await newMac();
    expect((await examined(mac)).of('state')).toMatchObject({ state: 'ok' });
    const path = join(mac.layout.support, file);
    if (content.startsWith('PRAGMA')) {
      const database = openSqlite(path);
      database.exec(content);
      database.close();
    } else writeFileSync(path, content);
    expect((await examined(mac)).of('state')).toMatchObject({
      state: 'problem',
      sentence: expect.stringContaining(reason),
      what_to_do: expect.stringContaining('estore'),
    });
  });

  test('of a demo finds no fault in a Mac without an installation', async () => {
    const mac = await newMac();
    await serve(mac, report);
    const { findings } = await examined(mac, false, { demo: true, configDir: mac.layout.support });
    const names = findings.filter(({ state }) => state === 'problem').map(({ name }) => name);
    expect(names).not.toContain('agent');
    expect(names).not.toContain('program');
    expect(findings.find(({ name }) => name === 'service')).toMatchObject({ state: 'ok' });
  });

  test('of a healthy installation finds no problem and knows the exact program', async () => {
    const mac = await newMac();
    await install(mac.machine(), mac.options());
    const { of } = await examined(mac);
    expect(of('agent')).toMatchObject({ state: 'ok' });
    expect(of('program')?.sentence).toContain(mac.layout.executable);
    expect(of('program')?.sentence).toMatch(/cdhash [0-9a-f]{40}/);
    expect(of('messages')).toMatchObject({ state: 'ok' });
    expect(of('converter_sandbox')).toMatchObject({ state: 'ok' });
    mac.keep('no-sandbox');
    expect((await examined(mac)).of('converter_sandbox')).toMatchObject({ state: 'warning' });
  });

  test('does not make macOS ask by default', async () => {
    const mac = await newMac();
    const asked = await serve(mac, report);
    const quiet = await examined(mac);
    expect(asked).toEqual(['GET /api/v1/health', 'GET /api/v1/status', 'POST /api/v1/diagnostics?seconds=0']);
    expect(mac.asked.filter(([name]) => name === 'osascript')).toEqual([]);
    expect(quiet.of('automation')).toMatchObject({ state: 'problem' });
    expect(quiet.of('full_disk_access')?.sentence).toContain(mac.layout.executable);
    await examined(mac, true);
    expect(asked.slice(-2)).toEqual(['POST /api/v1/permissions/check', 'POST /api/v1/diagnostics?seconds=0']);
    expect(mac.asked.filter(([name]) => name === 'osascript')).toEqual([]);
  });

  test.each([
    [[{ service: 'iMessage', enabled: true }], 'ok'],
    [[{ service: 'iMessage', enabled: false }], 'problem'],
    [
      [
        { service: 'iMessage', enabled: false },
        { service: 'SMS', enabled: true },
        { service: 'RCS', enabled: true },
      ],
      'problem',
    ],
    [{ error: -1743 }, 'unknown'],
  ] as const)(
    'with --prompt asks Messages for its accounts by way of the service: %j is %s',
    async (accounts, state) => {
      const mac = await newMac();
      const permissions = [{ name: 'automation', state: 'granted', detail: 'May be controlled.' }] as const;
      const asked = await serve(mac, { ...report, permissions }, { accounts });
      expect((await examined(mac, true)).of('messages_account')).toMatchObject({ state });
      expect(asked.at(-1)).toBe('POST /api/v1/diagnostics?seconds=0&ask=messages');
      expect(mac.asked.filter(([name]) => name === 'osascript')).toEqual([]);
    },
  );

  test.each([
    ['imessage', 'ok'],
    ['no_imessage', 'problem'],
    ['signed_out', 'problem'],
  ] as const)(
    'without --prompt knows the accounts from the daily look of the service: %s is %s',
    async (account, state) => {
      const mac = await newMac();
      await serve(mac, { ...report, messages_account: { state: account, checked_at: '2026-01-02T03:04:05Z' } });
      expect((await examined(mac)).of('messages_account')).toMatchObject({ state });
    },
  );

  test.each([
    ['', { 0: 40, 2: 3, 3: 1, 2000: 9 }, '4 of the newest rows are messages of apps'],
    ['', { 0: 40, 3: 1 }, 'One of the newest rows is a message of an app'],
    ['', { 0: 40, 2000: 9 }, undefined],
    ['[backend]\nassociated_rows = "by_kind"\n', { 0: 40, 2: 3 }, undefined],
  ])('with config.toml %j and rows %j it says of messages of apps: %j', async (settings, types, said) => {
    const mac = await newMac();
    appendFileSync(mac.layout.config, settings);
    const shapes = { ...diagnosticsExample.data_shapes, associated_types: types };
    await serve(mac, report, { shapes });
    const found = (await examined(mac)).of('app_messages');
    expect(found?.sentence).toEqual(said && expect.stringContaining(said));
    expect(found?.what_to_do).toEqual(
      said && expect.stringMatching(/"by_kind" under \[backend\] in .*config\.toml, then restart Postern\.$/),
    );
  });

  test('prints nothing that commands the terminal, whatever program answers', async () => {
    const mac = await newMac();
    await serve(mac, { ...report, backend: { connected: true, message: 'fine\x1b[2J\x9b31m' } });
    for (const isJson of [false, true]) {
      const { text } = await doctor(mac, { json: isJson }, { isTerminal: true });
      expect(text).toContain('fine');
      for (const control of ['\x1b', '\x9b']) expect(text).not.toContain(control);
    }
  });

  test('says sentences, under names for people, with commands to copy', async () => {
    const mac = await newMac();
    const failing = {
      state: 'failing',
      consecutive_failures: 4,
      last_success_at: null,
      last_outcome: 'dropped',
    } as const;
    const error = failureSentence({ code: 'ECONNREFUSED' });
    await serve(mac, {
      ...report,
      webhooks: [{ id: '3ac7', origin: 'http://127.0.0.1:9', ...failing, last_error: error }],
    });
    const { text } = await doctor(mac, {}, { isTerminal: true, columns: 80 });
    expect(text).toContain('webhooks deliveries');
    expect(text).not.toMatch(/\.\.(?!\.)|\/api\/v1\/|^\S \w+_\w+:/m);
    // Paths and commands are not wrapped.
    for (const line of text.split('\n')) {
      if (/webhooks deliveries 3ac7$|config rotate-key/.test(line)) continue;
      const longest = Math.max(
        ...line
          .trim()
          .split(' ')
          .map((word) => word.length),
      );
      expect(line.length).toBeLessThanOrEqual(Math.max(80, longest + 4));
    }
  });

  test('takes 429 for a sign of life', async () => {
    const mac = await newMac();
    const asked = await serve(mac, report, { isBusy: true });
    expect((await examined(mac)).of('service')).toMatchObject({ state: 'ok' });
    expect(asked).toHaveLength(1);
  });

  test('names lagging events, failing webhooks, and the local network for receivers in it', async () => {
    const mac = await newMac();
    const [inside, outside] = ['http://192.168.1.9:8080', 'https://example.org'];
    const failing = {
      state: 'failing',
      consecutive_failures: 4,
      last_success_at: null,
      last_outcome: 'dropped',
    } as const;
    await serve(mac, {
      ...report,
      newest_row: 20,
      webhooks: [
        { id: 'a', origin: inside, ...failing, last_error: failureSentence({ code: 'EHOSTUNREACH' }, inside) },
        { id: 'b', origin: outside, ...failing, last_error: failureSentence({ code: 'EHOSTUNREACH' }, outside) },
        { id: 'c', origin: inside, ...failing, last_error: failureSentence({ code: 'ECONNREFUSED' }, inside) },
      ],
    });
    const { of } = await examined(mac);
    expect(of('events')).toMatchObject({
      state: 'warning',
      sentence: 'The newest row is 20, but the newest event is of row 12.',
    });
    expect(of('webhook a')).toMatchObject({
      sentence: expect.stringContaining(LOCAL_NETWORK),
      what_to_do: expect.stringContaining('in your own network'),
    });
    for (const name of ['webhook b', 'webhook c']) expect(JSON.stringify(of(name))).not.toContain('Local Network');
  });

  test('names open files, mistakes, a disabled agent, a port holder and the schema of the database', async () => {
    const mac = await newMac();
    chmodSync(mac.layout.config, 0o644);
    mkdirSync(join(mac.home, 'Library', 'LaunchAgents'));
    writeFileSync(mac.layout.plist, '');
    mac.keep('disabled-local.postern.agent');
    mac.keep('lsof', 'p99\ncruby\nn*:3001\n');
    new ChatFixture(join(mac.home, 'Library', 'Messages', 'chat.db'), 'macos-13').close();
    let connections = 0;
    const server = createServer((_request, response) => void response.end('hello'));
    server.on('connection', () => (connections += 1));
    servers.push(server);
    await new Promise<void>((resolve) => void server.listen(mac.port, '127.0.0.1', resolve));

    const { of } = await examined(mac);
    expect(of('file_modes')?.what_to_do).toContain('chmod 600');
    expect(of('agent')?.sentence).toContain('disabled');
    expect(of('service')?.sentence).toContain('Nothing answers at');
    expect(of('port')?.sentence).toBe(`Port ${mac.port} is taken by ruby, process 99.`);
    expect(connections).toBe(0);
    expect(of('chat_database')?.sentence).toContain('schema of macOS 13');
  });
});

test.each([
  ['http://192.168.1.9', true],
  ['http://172.20.0.1:9', true],
  ['http://172.40.0.1', false],
  ['nats://10.0.0.7:4222', true],
  ['nats://10.example.org:4222', false],
  ['http://127.0.0.1.example.org', false],
  ['http://192.168.example.org', false],
  ['http://printer.local', true],
  ['http://nas:8080', true],
  ['http://[fe80::1]', true],
  ['http://[2001:db8::1]', false],
  ['http://localhost:9', false],
  ['http://127.0.0.1', false],
  ['https://example.org', false],
])('%s is guarded as the local network: %s', (origin, expected) => {
  expect(isOnLocalNetwork(origin)).toBe(expected);
});

test.each([
  // Without the permission: an address is unreachable, and a name under .local is unknown (Apple TN3179).
  ['EHOSTUNREACH', 'http://192.168.1.9', true],
  ['ENOTFOUND', 'http://printer.local/', true],
  ['EAI_AGAIN', 'http://printer.local/', true],
  ['connect EHOSTUNREACH 10.0.0.5:4222', 'nats://10.0.0.5', true],
  ['getaddrinfo ENOTFOUND Hub.Local', 'tls://Hub.Local:4222', true],
  ['ENOTFOUND', 'https://example.org', false],
  ['ECONNREFUSED', 'http://192.168.1.9', false],
  ['EHOSTUNREACH', 'no address', false],
])('%s at %s may be the permission Local Network: %s', (failure, url, expected) => {
  expect(localNetworkAdvice(failure, [url])).toBe(expected ? LOCAL_NETWORK : undefined);
});

test.each([
  ['connect EHOSTUNREACH', LOCAL_NETWORK],
  ['Authorization Violation', 'revoked'],
])(
  'a running Mac is asked about its fleet, and %s explained, because the terminal may reach more',
  async (problem, advice) => {
    const mac = await newMac();
    const file = join(mac.layout.support, 'member.line');
    const seed = new TextDecoder().decode(createUser().getSeed());
    const keys = [Buffer.alloc(32).toString('base64')];
    writeFileSync(file, membershipLine({ member: 'm1', servers: ['tls://10.0.0.5:4222'], seed, ca: undefined, keys }));
    chmodSync(file, 0o644);
    appendFileSync(mac.layout.config, `[fleet]\nfile = ${JSON.stringify(file)}\n`);
    const fleet = { mac: 'm1', machine: 'a', state: 'away', behind: 3, published_row: 9, late: 0, problem };
    await serve(mac, { ...report, ...{ fleet: { ...fleet, certificate_ends: '2020-01-01T00:00:00Z' } } });
    const { of } = await examined(mac);
    expect(of('fleet')).toMatchObject({ state: 'warning', what_to_do: expect.stringContaining(advice) });
    expect(of('fleet_servers')).toBeUndefined();
    expect(of('fleet_file')).toMatchObject({ state: 'problem', what_to_do: expect.stringContaining('chmod 600') });
    expect(of('fleet_certificate')).toMatchObject({
      state: 'problem',
      sentence: expect.stringContaining('2020-01-01'),
    });
  },
);
