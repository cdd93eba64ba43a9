import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { install } from '../../installer/install.ts';
import { PosternError } from '../../src/client/postern-client.ts';
import { examples } from '../../src/core/http/openapi/examples.ts';
import type { RunCommand } from '../../src/core/runtime/command.ts';
import { MAC_PROBES } from '../../src/features/doctor/cli/probes.ts';
import type { ReportClient } from '../../src/features/doctor/cli/report-client.ts';
import { PARTS } from '../../src/features/doctor/cli/send-to-me.ts';
import { diagnosticsExample } from '../../src/features/doctor/document.ts';
import { reportClient, reportOf } from '../support/mac-report.ts';
import { StandInMac } from '../support/stand-in-mac.ts';

let mac: StandInMac;
beforeAll(async () => {
  mac = await StandInMac.start();
  await install(mac.machine(), mac.options());
});
afterAll(() => mac.close());

describe('the report of a healthy installation', () => {
  test('says under every key what was found', async () => {
    const { keys } = await reportOf(mac, { sendToMe: true });
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
      socket: { found: { limit: 103, mode: expect.stringMatching(/^[0-7]{3}$/) } },
      app_xattrs: { found: { names: [] } },
      sleep: { found: { wakes: 2 } },
      conversions: {
        found: {
          heic: { found: { bytes: 9 } },
          m4a: { found: { exit_code: 0, bytes: 9 } },
          picture_in_sandbox: true,
          sound_in_sandbox: true,
          home_in_sandbox: false,
        },
      },
      data_shapes: { found: { item_types: { 0: 1200, 1: 6 }, link_previews_shown: 1, unknown_columns: 0 } },
      sqlite: { found: { library: 'node:sqlite', journal_mode: 'wal' } },
      flips: { found: { rows: 1, flipped: 0 } },
      join_delay: { found: [{ delay_ms: 0, age_s: 1 }] },
      self_messages: { found: [] },
      contacts: { found: { state: 'loaded', has_message: false } },
      local_network: { found: { webhooks: 0, refused: 0 } },
      sleep_gaps: { found: { count: 2, longest_s: 25_200 } },
      delivery_errors: {
        found: { loopback: { ECONNREFUSED: 3 }, private: { EHOSTUNREACH: 6 }, other: { '5xx': 1 } },
      },
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
    expect((await reportOf(mac)).keys.tcc_log).toEqual({
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
    mac.forgetWord('participant');
    try {
      const { keys } = await reportOf(mac);
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
  test('says "not_macos" for every key that only a Mac has', async () => {
    const { keys, platform } = await reportOf(mac, { platform: 'linux' });
    expect(platform).toBe('linux');
    for (const key of [...Object.keys(MAC_PROBES), 'tcc_log']) {
      expect(keys[key as keyof typeof keys]).toEqual({ absent: 'not_macos' });
    }
    expect(keys.service).toMatchObject({ found: { connected: true } });
  });

  test.each(['missing', 'time_limit', 'failed'] as const)('says of programs that they are: %s', async (trouble) => {
    const run: RunCommand = () => Promise.resolve({ code: null, stdout: '', stderr: '', trouble });
    const { keys } = await reportOf(mac, { run });
    expect(keys.macos).toEqual({ absent: trouble });
    expect(keys.launch_services).toEqual({ absent: trouble });
    expect(keys.tcc_log).toEqual({ absent: trouble });
  });

  test('says that no service answered, and with which code', async () => {
    const away = (): Promise<never> =>
      Promise.reject(new PosternError(0, { code: 'unreachable', detail: 'Nothing there.' }));
    const { keys } = await reportOf(mac, { client: { ...reportClient, health: away }, sendToMe: true });
    expect(keys.service).toEqual({ absent: 'no_service', status: 0, code: 'unreachable' });
    expect(keys.changes).toEqual({ absent: 'no_service' });
    expect(keys.send_to_me).toEqual({ absent: 'no_service' });
    expect((await reportOf(mac, { client: undefined })).keys.service).toEqual({ absent: 'no_service' });
  });

  test('says what an older service could not report, and all that it could', async () => {
    const { sleep_gaps, delivery_errors, data_shapes, ...older } = diagnosticsExample;
    const { unknown_columns, ...shapes } = data_shapes;
    expect([sleep_gaps, delivery_errors, unknown_columns]).not.toContain(undefined);
    const diagnostics: ReportClient['diagnostics'] = () => Promise.resolve({ ...older, data_shapes: shapes });
    const { keys } = await reportOf(mac, { client: { ...reportClient, diagnostics } });
    expect(keys).toMatchObject({ sleep_gaps: { absent: 'failed' }, delivery_errors: { absent: 'failed' } });
    expect(keys.data_shapes).toEqual({ found: shapes });
  });

  test('does not make macOS ask the person by default', async () => {
    const asked: (string | undefined)[] = [];
    const watching: ReportClient = {
      ...reportClient,
      status: () => Promise.resolve({ ...examples.status, permissions: [] }),
      checkPermissions: () => Promise.reject(new Error('asked')),
      diagnostics: ({ ask }) => {
        asked.push(ask);
        return Promise.resolve({ ...diagnosticsExample, accounts: { error: 'not_asked' } });
      },
    };
    const { keys } = await reportOf(mac, { client: watching, prompt: false });
    expect(asked).toEqual([undefined]);
    expect(keys.accounts).toEqual({ absent: 'not_asked' });
  });
});

describe('a text and a picture to oneself', () => {
  test('are compared with what came back, byte by byte', async () => {
    const { keys } = await reportOf(mac, { sendToMe: true });
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

  test('are followed by a watch as long as it was asked for, and every row since before them is seen', async () => {
    const steps: (string | number)[] = [];
    const client: ReportClient = {
      ...reportClient,
      diagnostics: ({ seconds }) => {
        steps.push(seconds);
        return Promise.resolve(diagnosticsExample);
      },
      send: () => {
        steps.push('send');
        return reportClient.send({ recipient: '', body: '' });
      },
    };
    await reportOf(mac, { client, watchSeconds: 7, sendToMe: true });
    expect(steps).toEqual([0, 120, 'send', 'send', 7]);
  });

  test('show where the body differs, never what it is', async () => {
    const body = Object.values(PARTS).join(' / ').replaceAll('\r\n', '\n').replace('\u2028', ' ');
    const { keys } = await reportOf(mac, {
      client: { ...reportClient, message: () => Promise.resolve({ ...examples.sent, body }) },
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
    const { keys } = await reportOf(mac, {
      client: {
        ...reportClient,
        diagnostics: () => Promise.resolve({ ...diagnosticsExample, own_addresses: own }),
        send: () => Promise.reject(new Error('sent')),
      },
      sendToMe: wanted,
    });
    expect(keys.send_to_me).toEqual({ absent: 'failed', reason });
  });

  test('go to an own address however it is written', async () => {
    const recipients: string[] = [];
    const own: ReportClient = {
      ...reportClient,
      diagnostics: () => Promise.resolve({ ...diagnosticsExample, own_addresses: ['me@example.org', '+15550100'] }),
      send: ({ recipient }) => {
        recipients.push(recipient);
        return Promise.reject(new PosternError(502, { code: 'send_failed', detail: 'No: -1728.' }));
      },
    };
    const { keys } = await reportOf(mac, { client: own, sendToMe: '+1 555-0100' });
    expect(recipients).toEqual(['+15550100', '+15550100']);
    expect(keys.send_to_me).toMatchObject({
      found: {
        kind: 'phone',
        text: { answer: { absent: 'no_service', status: 502, code: 'send_failed' }, body: null },
      },
    });
  });
});
