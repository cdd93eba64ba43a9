import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { MacReport } from '../../src/features/doctor/cli/mac-report.ts';
import { postern } from '../support/postern.ts';
import { KEY, Service } from '../support/service.ts';
import { simulatedMac } from '../support/simulated-mac.ts';

const ANA = '+15550100';
let mac: Awaited<ReturnType<typeof simulatedMac>>;
let service: Service;

beforeAll(async () => {
  mac = await simulatedMac();
  await mac.command({ do: 'receive', from: ANA, text: 'the kettle is on' });
  service = await Service.here({ chatDbPath: mac.chatDbPath, osascriptPath: mac.osascriptPath });
});
afterAll(async () => {
  await service.dispose();
  await mac.dispose();
});

async function report(...options: readonly string[]): Promise<{ readonly report: MacReport; readonly text: string }> {
  const { exitCode, stdout, stderr } = await postern([
    '--config-dir',
    service.configFolder,
    'doctor',
    '--mac-report',
    '--watch',
    '1',
    ...options,
  ]);
  expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: expect.stringContaining('masked') });
  return { report: JSON.parse(stdout) as MacReport, text: stdout };
}

const recipients = (): readonly (string | undefined)[] =>
  mac.calls.map(({ values }) => values.RECIPIENT).filter((recipient) => recipient !== undefined);

describe('the report of a running service', () => {
  test('is complete, and has neither the key nor any person', async () => {
    const { report: found, text } = await report();
    expect(found.keys.service).toMatchObject({ found: { connected: true } });
    expect(found.keys.stored_chats).toEqual({ found: { 'any;-;': 1 } });
    expect(found.keys.changes).toMatchObject({ found: { seconds: expect.any(Number), rows: [] } });
    expect(found.keys.accounts).toEqual({ absent: 'not_asked' });
    expect(found.keys.send_to_me).toEqual({ absent: 'not_asked' });
    for (const secret of [KEY, ANA, 'me@example.com', 'kettle', service.folder]) expect(text).not.toContain(secret);
    expect(recipients()).toEqual([]);
  });

  test('has the codes of failed deliveries by class of host, and neither host nor path', async () => {
    const url = 'http://127.0.0.1:9/zqpath';
    const { json } = await service.post('/webhooks', { url, events: ['message.received'] });
    const { id } = json as { readonly id: string };
    await service.post(`/webhooks/${id}/test`, {});
    const { report: found, text } = await report();
    expect(found.keys.delivery_errors).toEqual({ found: { loopback: { ECONNREFUSED: 1 }, private: {}, other: {} } });
    expect(found.keys.sleep_gaps).toMatchObject({ found: { count: expect.any(Number) } });
    expect(found.keys.data_shapes).toMatchObject({ found: { unknown_columns: 0 } });
    for (const secret of ['zqpath', '127.0.0.1', id]) expect(text).not.toContain(secret);
    await service.request('DELETE', `/webhooks/${id}`);
  });

  test('says what became of a text and a picture to oneself', async () => {
    const { report: found, text } = await report('--send-to-me');
    expect(found.keys.send_to_me).toMatchObject({
      found: {
        kind: 'email',
        text: {
          answer: { found: { accepted: true, row_known: true } },
          row: { row_delay_ms: expect.any(Number), error: 0, columns: expect.arrayContaining(['attributedBody']) },
          body: { is_identical: true, kept: { emoji: true, quotes: true, line_ends: true, line_separator: true } },
        },
        picture: { answer: { found: { accepted: true } } },
      },
    });
    expect(new Set(recipients())).toEqual(new Set(['me@example.com']));
    expect(text).not.toContain('me@example.com');
  });

  test('compares what Messages and chat.db call the same conversation, once it may ask', async () => {
    await mac.command({ do: 'behave', livePrefix: 'iMessage', accounts: [{ service: 'iMessage', isEnabled: false }] });
    const { report: found } = await report('--prompt');
    expect(found.keys.accounts).toEqual({ found: [{ service: 'iMessage', enabled: false }] });
    expect(found.keys.live_chats).toMatchObject({
      found: { same_guid: 0, prefixes: { 'iMessage;-;': expect.any(Number) } },
    });
    await mac.command({ do: 'behave', automation: 'denied' });
    const { report: refused } = await report('--prompt');
    expect(refused.keys.accounts).toEqual({ absent: 'failed', error: -1743 });
    // The reason depends on how long osascript takes.
    expect(refused.keys.permissions).toMatchObject({ found: [{}, { name: 'automation', state: 'denied' }] });
    await mac.command({ do: 'behave' });
  });

  test('of a Mac that is signed in only for SMS says so in health, status, metrics and doctor, until iMessage is back', async () => {
    const bySms = { service: 'SMS', isEnabled: true };
    await mac.command({ do: 'behave', accounts: [{ service: 'iMessage', isEnabled: false }, bySms] });
    await report('--prompt');
    const { json: health } = await service.get('/health');
    expect(health).toMatchObject({ backend: { connected: true, message: expect.stringContaining('not signed in') } });
    const { json: status } = await service.get('/status');
    expect(status).toMatchObject({
      messages_account: { state: 'no_imessage' },
      problems: expect.arrayContaining([expect.objectContaining({ code: 'imessage_signed_out', until: null })]),
    });
    await mac.command({ do: 'behave' });
    await report('--prompt');
    expect((await service.get('/health')).json).toMatchObject({ backend: { message: null } });
    expect((await service.get('/status')).json).toMatchObject({ messages_account: { state: 'imessage' } });
  });

  test('says that Messages uses the file itself instead of a copy', async () => {
    await mac.command({ do: 'behave', stagedFiles: 'in_place' });
    const { report: found } = await report('--send-to-me');
    expect(found.keys.send_to_me).toMatchObject({ found: { picture: { row: { attachment: ['elsewhere'] } } } });
    await mac.command({ do: 'behave' });
  });

  test('sends nothing to an address that is not the person’s own', async () => {
    const before = recipients().length;
    const { report: found } = await report('--send-to-me', ANA);
    expect(found.keys.send_to_me).toEqual({ absent: 'failed', reason: 'not_an_own_address' });
    expect(recipients()).toHaveLength(before);
  });
});

test('without a service the report says so, and the exit code is 1', async () => {
  const { exitCode, stdout } = await postern(['--config-dir', join(service.folder, 'none'), 'doctor', '--mac-report']);
  expect(exitCode).toBe(1);
  expect((JSON.parse(stdout) as MacReport).keys.service).toEqual({ absent: 'no_service' });
});

test('every key of the report is in the checklist, and the issue form asks for the report', async () => {
  const read = (path: string): string => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');
  expect(read('.github/ISSUE_TEMPLATE/problem.yml')).toContain('doctor --mac-report');
  const checklist = read('docs/project/mac-checklist.md');
  const { report: found } = await report();
  expect(Object.keys(found.keys).filter((key) => !checklist.includes(`\`${key}\``))).toEqual([]);
});
