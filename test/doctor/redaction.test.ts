import { mkdirSync, writeFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import * as fc from 'fast-check';
import { install } from '../../installer/install.ts';
import { PosternError } from '../../src/client/postern-client.ts';
import { examples } from '../../src/core/http/openapi/examples.ts';
import type { RunCommand } from '../../src/core/runtime/command.ts';
import { knownWords } from '../../src/features/doctor/cli/redact.ts';
import type { ReportClient } from '../../src/features/doctor/cli/report-client.ts';
import { diagnosticsExample } from '../../src/features/doctor/document.ts';
import { isLong } from '../support/conditions.ts';
import { reportClient, reportOf, withQuickNpm } from '../support/mac-report.ts';
import { StandInMac } from '../support/stand-in-mac.ts';
import { ABSENT } from '../support/temporary.ts';

const USER = 'Zqjane';
let mac: StandInMac;
beforeAll(async () => {
  mac = await StandInMac.start(USER);
  await install(mac.machine(), mac.options());
});
afterAll(() => mac.close());

/** What a report must never contain. The words begin with letters that no known word begins with. */
const secrets = fc.record({
  first: fc.stringMatching(/^Zq[a-z]{3,8}$/),
  last: fc.stringMatching(/^Zqx[a-zë]{3,8}$/),
  phone: fc.stringMatching(/^\+1 ?\(?555\)?[ .-]?[0-9]{3}[ .-]?[0-9]{4}$/),
  email: fc.stringMatching(/^zq[a-z]{2,6}[0-9]{0,2}@zq[a-z]{2,6}\.org$/),
  key: fc.uuid().map((uuid) => `zqkey-${uuid}`),
});
type Secrets = { readonly [name in 'first' | 'last' | 'phone' | 'email' | 'key']: string };

/** Inserts them into what a program printed: into values, between lines, beside words, in quotes. */
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

const SHAPES = diagnosticsExample.data_shapes;
const ERRORS = diagnosticsExample.delivery_errors;

/** The programs of this machine always answer the same, so each is asked once. */
const answers = new Map<string, ReturnType<RunCommand>>();

const answerOf: RunCommand = (...call) => {
  const question = JSON.stringify(call);
  const answer = answers.get(question) ?? mac.run(...call);
  answers.set(question, answer);
  return answer;
};

describe('no address, key, name or text is in the report', () => {
  test('whatever the programs of macOS and the service say', async () => {
    await fc.assert(
      fc.asyncProperty(secrets, fc.nat(1000), fc.constantFrom(0, 1, 113), async (secret, how, code) => {
        const texts = Object.values(secret);
        const run: RunCommand = async (command, args, options) => {
          const result = await answerOf(command, args, options);
          const [stdout, stderr] = [planted(result.stdout, secret, how), planted(result.stderr, secret, how + 1)];
          return { ...result, code: code === 0 ? result.code : code, stdout, stderr };
        };
        const said = texts.join(' ');
        const talking: ReportClient = {
          ...reportClient,
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
              contacts: { state: secret.last as 'off', message: said },
            }),
          diagnostics: () =>
            Promise.resolve(
              how % 2 === 0
                ? { ...diagnosticsExample, own_addresses: [secret.phone, secret.email] }
                : {
                    ...diagnosticsExample,
                    ...(how % 3 === 0
                      ? { accounts: [{ service: secret.first as 'SMS', enabled: true }] }
                      : how % 3 === 1
                        ? { data_shapes: { ...SHAPES, services: { [secret.first]: 1, [secret.phone]: 2 } } }
                        : {
                            delivery_errors: { ...ERRORS, [secret.first]: { [secret.key]: 1 }, other: { [said]: 2 } },
                          }),
                  },
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
        const text = JSON.stringify(
          await reportOf(mac, { run, client: talking, findings, sendToMe: true }),
        ).toLowerCase();
        for (const one of [...texts, USER]) expect(text).not.toContain(one.toLowerCase());
        for (const part of secret.key.split('-')) if (part.length > 4) expect(text).not.toContain(part);
        expect(text).not.toContain(secret.phone.replace(/\D/g, '').slice(-7));
        expect(text).not.toContain(secret.email.split('@')[1]);
      }),
      { numRuns: isLong ? 50 : 12 },
    );
  });

  test('including the content of files that another program may have written', async () => {
    const other = await StandInMac.start(USER);
    try {
      mkdirSync(other.layout.support, { recursive: true });
      writeFileSync(other.layout.knownCdhash, 'Zqname +15550100123');
      const probes = {
        machine: other.machine({ run: withQuickNpm(other.run) }),
        layout: other.layout,
        scripts: ABSENT,
        port: 1,
        messagesApp: '/nonexistent',
      };
      const { keys } = await reportOf(mac, { probes });
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
  ['sent to service+home@user.com', 'sent to …'],
  ['service +49/171/1234/567', 'service …'],
  ['service 030/12345, 171:1234:567', 'service …'],
])('of %j the report keeps %j', (text, kept) => {
  expect(knownWords(text)).toBe(kept);
});
