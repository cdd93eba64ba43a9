import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import * as fc from 'fast-check';
import { install } from '../../installer/install.ts';
import { type MacReport, macReport, type ReportOptions } from '../../src/cli/doctor/mac-report.ts';
import { MAC_PROBES } from '../../src/cli/doctor/probes.ts';
import { knownWords } from '../../src/cli/doctor/redact.ts';
import type { ReportClient } from '../../src/cli/doctor/report-client.ts';
import { PARTS } from '../../src/cli/doctor/send-to-me.ts';
import { PosternError } from '../../src/client/client.ts';
import type { RunCommand } from '../../src/runtime/command.ts';
import { examples } from '../../src/wire/examples.ts';
import { StandInMac } from '../support/stand-in-mac.ts';

const USER = 'Zqjane';
let mac: StandInMac;
beforeAll(async () => {
  mac = await StandInMac.start(USER);
  await install(mac.machine(), mac.options());
});
afterAll(() => mac.close());

/** npm takes half a second; what it prints is a version. */
const quick =
  (run: RunCommand): RunCommand =>
  (command, args, options) =>
    command === 'npm'
      ? Promise.resolve({ code: 0, stdout: '10.9.2\n', stderr: '', trouble: null })
      : run(command, args, options);

const client: ReportClient = {
  health: () => Promise.resolve({ status: 'ok', backend: { connected: true, message: null } }),
  status: () => Promise.resolve(examples.status),
  checkPermissions: () => Promise.resolve(examples.permissions),
  diagnostics: () => Promise.resolve(examples.diagnostics),
  send: () => Promise.resolve({ ...examples.sent, id: '1207' }),
  message: () => Promise.resolve({ ...examples.sent, body: Object.values(PARTS).join(' / ') }),
};

function report(
  changes: Partial<ReportOptions> & { readonly run?: RunCommand; readonly platform?: string } = {},
): Promise<MacReport> {
  const { run = mac.run, platform = 'darwin', ...options } = changes;
  const machine = mac.machine({ run: quick(run), platform });
  return macReport({
    version: '0.1.0',
    probes: { machine, layout: mac.layout, scripts: join(mac.layout.current, 'dist/src'), port: mac.port },
    client,
    findings: [{ name: 'agent', state: 'ok', sentence: 'It runs.', what_to_do: null }],
    prompt: true,
    watchSeconds: 30,
    sendToMe: undefined,
    ...options,
  });
}

describe('the report of a healthy installation', () => {
  test('says under every key what was found', async () => {
    const { keys } = await report({ sendToMe: true });
    const missing = Object.entries(keys).filter(([, seen]) => !('found' in seen));
    expect(missing).toEqual([]);
    const cdhash = expect.stringMatching(/^[0-9a-f]{40}$/);
    expect(keys).toMatchObject({
      macos: { found: { exit_code: 0 } },
      sip: { found: { status: 'enabled' } },
      npm: { found: { version: '10.9.2' } },
      agent_node: { found: { version: process.versions.node } },
      signature: {
        found: {
          Identifier: 'local.postern',
          Signature: 'adhoc',
          CDHash: cdhash,
          flags: 'adhoc',
          TeamIdentifier: 'not set',
        },
      },
      requirement: { found: { kind: 'cdhash', cdhash } },
      signature_strict: { found: { exit_code: 0 } },
      recorded_cdhash: { found: { cdhash } },
      launchctl_print: {
        found: { state: 'running', is_our_program: true, 'spawn type': 'interactive (4)', runs: '1' },
      },
      launchctl_print_disabled: { found: { agent: 'enabled' } },
      launchctl_managername: { found: { name: 'Aqua' } },
      property_list: { found: { exit_code: 0, has_empty_node_options: true } },
      launch_services: { found: { is_listed: true } },
      dictionary: { found: { needed_missing: [] } },
      installed: { found: { version: '0.1.0', has_bundle: true, has_property_list: true } },
      accounts: { found: [{ service: 'iMessage', enabled: true }] },
      live_chats: { found: { live: 200, same_guid: 180 } },
      changes: { found: { wal_events: { rename: 2 } } },
      permissions: { found: [{ name: 'full_disk_access', state: 'granted' }, { name: 'automation' }] },
      findings: { found: [{ name: 'agent', state: 'ok' }] },
    });
    expect(keys.scripts_compile).toMatchObject({
      found: expect.arrayContaining([
        expect.objectContaining({ script: 'send', found: { exit_code: 0, line: null, number: null } }),
      ]),
    });
  });

  test('has of the privacy log only what concerns Postern, without paths or other programs', async () => {
    expect((await report()).keys.tcc_log).toEqual({
      found: {
        exit_code: 0,
        lines: [
          {
            kind: 'AUTHREQ_ATTRIBUTION',
            request: '41.7',
            requesting: 'com.apple.osascript',
            responsible: 'local.postern',
          },
          { kind: 'AUTHREQ_SUBJECT', request: '41.7', subject: 'local.postern' },
          { kind: 'AUTHREQ_PROMPTING', request: '41.7', service: 'kTCCServiceAppleEvents', subject: 'local.postern' },
          { kind: 'AUTHREQ_RESULT', request: '41.7', auth_value: 2, auth_reason: 3 },
        ],
      },
    });
  });

  test('names the words that this macOS does not know', async () => {
    mac.keep('unknown-words', 'participant');
    try {
      const { keys } = await report();
      expect(keys.dictionary).toMatchObject({ found: { needed_missing: ['participant'] } });
      expect(keys.scripts_compile).toMatchObject({
        found: expect.arrayContaining([
          expect.objectContaining({ script: 'send', found: expect.objectContaining({ exit_code: 1, number: -2741 }) }),
        ]),
      });
    } finally {
      mac.forget('unknown-words');
    }
  });
});

describe('a report where things are missing', () => {
  test('says for every key of a Mac that this is none', async () => {
    const { keys, platform } = await report({ platform: 'linux' });
    expect(platform).toBe('linux');
    for (const key of [...Object.keys(MAC_PROBES), 'tcc_log']) {
      expect(keys[key as keyof typeof keys]).toEqual({ absent: 'not_macos' });
    }
    expect(keys.service).toMatchObject({ found: { connected: true } });
  });

  test.each(['missing', 'time_limit', 'failed'] as const)('says of programs that they are: %s', async (trouble) => {
    const run: RunCommand = () => Promise.resolve({ code: null, stdout: '', stderr: '', trouble });
    const { keys } = await report({ run });
    expect(keys.macos).toEqual({ absent: trouble });
    expect(keys.launch_services).toEqual({ absent: trouble });
    expect(keys.tcc_log).toEqual({ absent: trouble });
  });

  test('says that no service answered, and with which code', async () => {
    const away = (): Promise<never> =>
      Promise.reject(new PosternError(0, { code: 'unreachable', detail: 'Nothing there.' }));
    const { keys } = await report({ client: { ...client, health: away }, sendToMe: true });
    expect(keys.service).toEqual({ absent: 'no_service', status: 0, code: 'unreachable' });
    expect(keys.changes).toEqual({ absent: 'no_service' });
    expect(keys.send_to_me).toEqual({ absent: 'no_service' });
    expect((await report({ client: undefined })).keys.service).toEqual({ absent: 'no_service' });
  });

  test('does not make macOS ask the person unless told to', async () => {
    const asked: (string | undefined)[] = [];
    const watching: ReportClient = {
      ...client,
      status: () => Promise.resolve({ ...examples.status, permissions: [] }),
      checkPermissions: () => Promise.reject(new Error('asked')),
      diagnostics: ({ ask }) => {
        asked.push(ask);
        return Promise.resolve({ ...examples.diagnostics, accounts: { error: 'not_asked' } });
      },
    };
    const { keys } = await report({ client: watching, prompt: false });
    expect(asked).toEqual([undefined]);
    expect(keys.accounts).toEqual({ absent: 'not_asked' });
  });
});

describe('a text and a picture to oneself', () => {
  test('are compared with what came back, byte by byte', async () => {
    const { keys } = await report({ sendToMe: true });
    expect(keys.send_to_me).toMatchObject({
      found: {
        kind: 'email',
        text: {
          answer: { found: { accepted: true, row_known: true } },
          row: { join_delay_ms: 0, error: 0, columns: expect.arrayContaining(['attributedBody']), attachment: [] },
          body: {
            is_identical: true,
            first_difference: null,
            kept: { emoji: true, line_ends: true, line_separator: true },
          },
        },
      },
    });
  });

  test('show where the body differs, never what it is', async () => {
    const body = Object.values(PARTS).join(' / ').replaceAll('\r\n', '\n').replace('\u2028', ' ');
    const { keys } = await report({
      client: { ...client, message: () => Promise.resolve({ ...examples.sent, body }) },
      sendToMe: true,
    });
    expect(keys.send_to_me).toMatchObject({
      found: {
        text: {
          body: {
            is_identical: false,
            is_identical_but_for_line_ends: false,
            first_difference: expect.any(Number),
            kept: { emoji: true, quotes: true, line_ends: false, line_separator: false },
          },
        },
      },
    });
    expect(JSON.stringify(keys.send_to_me)).not.toContain('before');
  });

  test.each([
    ['an address that is not known as an own one', '+15550199', ['me@example.org'], 'not_an_own_address'],
    ['no address at all', true, [], 'no_own_address_known'],
  ] as const)('are not sent to %s', async (_what, wanted, own, reason) => {
    const { keys } = await report({
      client: {
        ...client,
        diagnostics: () => Promise.resolve({ ...examples.diagnostics, own_addresses: own }),
        send: () => Promise.reject(new Error('sent')),
      },
      sendToMe: wanted,
    });
    expect(keys.send_to_me).toEqual({ absent: 'failed', reason });
  });

  test('go to an own address however it is written', async () => {
    const recipients: string[] = [];
    const own: ReportClient = {
      ...client,
      diagnostics: () => Promise.resolve({ ...examples.diagnostics, own_addresses: ['me@example.org', '+15550100'] }),
      send: ({ recipient }) => {
        recipients.push(recipient);
        return Promise.reject(new PosternError(502, { code: 'send_failed', detail: 'No: -1728.' }));
      },
    };
    const { keys } = await report({ client: own, sendToMe: '+1 555-0100' });
    expect(recipients).toEqual(['+15550100', '+15550100']);
    expect(keys.send_to_me).toMatchObject({
      found: {
        kind: 'phone',
        text: { answer: { absent: 'no_service', status: 502, code: 'send_failed' }, body: null },
      },
    });
  });
});

/** What nobody may find in a report. The words begin with letters that no known word begins with. */
const secrets = fc.record({
  first: fc.stringMatching(/^Zq[a-z]{3,8}$/),
  last: fc.stringMatching(/^Zqx[a-zë]{3,8}$/),
  phone: fc.stringMatching(/^\+1 ?\(?555\)?[ .-]?[0-9]{3}[ .-]?[0-9]{4}$/),
  email: fc.stringMatching(/^zq[a-z]{2,6}[0-9]{0,2}@zq[a-z]{2,6}\.org$/),
  key: fc.uuid().map((uuid) => `zqkey-${uuid}`),
});
type Secrets = { readonly [name in 'first' | 'last' | 'phone' | 'email' | 'key']: string };

/** Puts them into what a program printed: into values, between lines, beside words, in quotes. */
function planted(text: string, { first, last, phone, email, key }: Secrets, how: number): string {
  const all = [`${first} ${last}`, phone, email, key, `/Users/${first}/Library`, `"${last}"`];
  const one = (index: number): string => all[(how + index) % all.length] ?? '';
  const lines = text.split('\n').map((line, index) => {
    switch ((how + index) % 5) {
      case 0:
        return `${line} ${one(index)}`;
      case 1:
        return line.replace(/([=:]\s*)\S.*$/, (_all, sign: string) => `${sign}${one(index)}`);
      case 2:
        return line.replace(/"[^"]*"/, `"${one(index)}"`);
      case 3:
        return line.replace(
          /\b(identifier|subject|state|version)\b(=|: )/,
          (_all, name: string, sign: string) => `${name}${sign}${one(index)}, ${name}${sign}`,
        );
      default:
        return line;
    }
  });
  return [one(0), ...lines, `Authority=Developer ID Application: ${first} ${last}`, `error: ${all.join(' ')}`].join(
    '\n',
  );
}

describe('no address, key, name or text is in the report', () => {
  test('whatever the programs of macOS and the service say', async () => {
    await fc.assert(
      fc.asyncProperty(secrets, fc.nat(1000), fc.constantFrom(0, 1, 113), async (secret, how, code) => {
        const texts = Object.values(secret);
        const run: RunCommand = async (command, args, options) => {
          const result = await mac.run(command, args, options);
          const [stdout, stderr] = [planted(result.stdout, secret, how), planted(result.stderr, secret, how + 1)];
          return { ...result, code: code === 0 ? result.code : code, stdout, stderr };
        };
        const said = texts.join(' ');
        const talking: ReportClient = {
          ...client,
          health: () => Promise.resolve({ status: 'ok', backend: { connected: false, message: said } }),
          status: () =>
            Promise.resolve({
              ...examples.status,
              version: secret.key,
              webhooks: [
                {
                  ...examples.status.webhooks[0],
                  id: secret.key,
                  origin: `https://${secret.first}.org`,
                  last_error: said,
                },
              ],
              permissions: [{ name: 'automation', state: 'granted', detail: said, reason: secret.first as 'asking' }],
              newest_row: 15550100123,
            }),
          diagnostics: () =>
            Promise.resolve(
              how % 2 === 0
                ? { ...examples.diagnostics, own_addresses: [secret.phone, secret.email] }
                : { ...examples.diagnostics, accounts: [{ service: secret.first as 'SMS', enabled: true }] },
            ),
          send: () =>
            how % 3 === 0
              ? Promise.reject(new PosternError(502, { code: secret.key, detail: said }))
              : Promise.resolve({ ...examples.sent, id: '1207', body: said }),
          message: () => Promise.resolve({ ...examples.sent, body: said }),
        };
        const findings = [
          { name: `webhook ${secret.key}`, state: 'problem', sentence: said, what_to_do: said },
        ] as const;
        const text = JSON.stringify(await report({ run, client: talking, findings, sendToMe: true })).toLowerCase();
        for (const one of [...texts, USER]) expect(text).not.toContain(one.toLowerCase());
        for (const part of secret.key.split('-')) if (part.length > 4) expect(text).not.toContain(part);
        expect(text).not.toContain(secret.phone.replace(/\D/g, '').slice(-7));
        expect(text).not.toContain(secret.email.split('@')[1]);
      }),
      { numRuns: 25 },
    );
  }, 120_000);

  test('nor what is in files that another program may have written', async () => {
    const other = await StandInMac.start(USER);
    try {
      mkdirSync(other.layout.support, { recursive: true });
      writeFileSync(other.layout.knownCdhash, 'Zqname +15550100123');
      const probes = {
        machine: other.machine({ run: quick(other.run) }),
        layout: other.layout,
        scripts: '/nonexistent',
        port: 1,
      };
      const { keys } = await report({ probes });
      expect(keys.recorded_cdhash).toEqual({ found: { cdhash: '…' } });
      expect(keys.scripts_compile).toEqual({ absent: 'missing' });
      expect(keys.uuid).toEqual({ absent: 'missing' });
      expect(keys.launchctl_print).toMatchObject({ found: { exit_code: 113 } });
    } finally {
      await other.close();
    }
  });
});

test.each([
  ['Boot-out failed: 36: Operation now in progress', 'Boot-out failed: 36: Operation now in progress'],
  [
    'Could not find service "local.postern.agent" in domain for user gui: 501',
    'Could not find service "local.postern.agent" in domain for user gui: 501',
  ],
  ["Zoë's Mac: +1 555 010 0123", '…: …'],
  [
    '/Users/jane/Library/x.applescript:12: error: Expected end of line but found identifier. (-2741)',
    '/Users/…/Library/….applescript:12: error: Expected end of line but found identifier. (-2741)',
  ],
  ['Boot-out fehlgeschlagen: 36: Vorgang läuft', 'Boot-out …: 36: …'],
  ['code 483920 for jane@example.org', 'code … for …'],
])('of %j the report keeps %j', (text, kept) => {
  expect(knownWords(text)).toBe(kept);
});
