import { join } from 'node:path';
import { afterAll, expect, test } from '@jest/globals';
import { MessagesAccounts } from '../../src/core/mac/messages-accounts.ts';
import { AwakeClock } from '../../src/core/runtime/awake-clock.ts';
import type { RunCommand } from '../../src/core/runtime/command.ts';
import { Poster } from '../../src/core/webhooks/poster.ts';
import { DiagnosticsRunner } from '../../src/features/doctor/diagnostics-runner.ts';
import { ChatFixture } from '../support/chat-fixture.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { collectingLog } from '../support/log.ts';
import { temporaryFolder } from '../support/temporary.ts';

const folder = temporaryFolder();
const database = new ChatFixture(join(folder, 'Library/Messages/chat.db'));
database.chat('any;-;+15550100', ['+15550100']);
afterAll(() => database.close());

const clock = new FakeClock();
const awake = new AwakeClock(clock, collectingLog());
const poster = new Poster({ version: '1.2.3', clock });

function runner(run: RunCommand, chatDbPath = database.path): DiagnosticsRunner {
  const parts = { osascriptPath: '/usr/bin/osascript', run, clock };
  const permissions = { known: [] };
  const messagesAccounts = new MessagesAccounts({ ...parts, log: collectingLog(), permissions });
  return new DiagnosticsRunner({ ...parts, chatDbPath, awake, poster, messagesAccounts });
}

const says =
  (accounts: string, chats: string): RunCommand =>
  (_command, [script = '']) =>
    Promise.resolve({
      code: 0,
      stdout: script.endsWith('accounts.applescript') ? accounts : chats,
      stderr: '',
      trouble: null,
    });

const asked = { seconds: 0, asksMessages: true };

test('what osascript prints of accounts and chats is reduced to closed sets', async () => {
  const { accounts, live_chats } = await runner(
    says('iMessage, «constant ****», SMS, true, true, false\n', 'any;-;+15550100\nSMS;-;+15550100\nJane\n'),
  ).run(asked);
  expect(accounts).toEqual([
    { service: 'iMessage', enabled: true },
    { service: 'other', enabled: true },
    { service: 'SMS', enabled: false },
  ]);
  expect(live_chats).toEqual({
    live: 3,
    prefixes: { 'any;-;': 1, 'SMS;-;': 1, other: 1 },
    same_guid: 1,
    same_identifier: 2,
  });
});

test('Messages is not asked when macOS might ask the person', async () => {
  const run: RunCommand = () => Promise.reject(new Error('asked'));
  expect(await runner(run).run({ seconds: 0, asksMessages: false })).toMatchObject({
    accounts: { error: 'not_asked' },
    live_chats: { error: 'not_asked' },
    stored_prefixes: { 'any;-;': 1 },
  });
});

test('without a chat.db the rest is still there', async () => {
  expect(await runner(says('iMessage, true', ''), join(folder, 'none')).run(asked)).toMatchObject({
    accounts: [{ service: 'iMessage', enabled: true }],
    stored_prefixes: null,
    changes: null,
    own_addresses: [],
  });
});

test('gaps of the timer and failed deliveries are reported, also without a chat.db', async () => {
  awake.start();
  clock.pause(60_000);
  await clock.advance(0);
  awake.close();
  poster.errors.note('http://zqnas.local/hook', 'EHOSTUNREACH');
  const { sleep_gaps, delivery_errors } = await runner(says('', ''), join(folder, 'none')).run(asked);
  expect(sleep_gaps).toEqual({ count: 1, longest_s: 59 });
  expect(delivery_errors).toEqual({ loopback: {}, private: { EHOSTUNREACH: 1 }, other: {} });
});

test('a second request joins the watch and decides when it ends', async () => {
  const running = runner(says('', ''));
  const first = running.run({ seconds: 100, asksMessages: false });
  await clock.advance(10_000);
  expect(running.run({ seconds: 5, asksMessages: false })).toBe(first);
  database.message({ text: 'a row between the second request and the end' });
  await clock.advance(6000);
  expect((await first).changes).toMatchObject({ seconds: 15, rows: [{ is_from_me: false }] });
});

test('the end of the service ends a watch and a script that waits, and a second request had joined them', async () => {
  const run: RunCommand = (_command, _args, { signal } = {}) =>
    new Promise((resolve) => {
      signal?.addEventListener('abort', () => resolve({ code: null, stdout: '', stderr: '', trouble: 'time_limit' }));
    });
  const running = runner(run);
  const first = running.run({ seconds: 100, asksMessages: true });
  const second = running.run({ seconds: 5, asksMessages: false });
  expect(second).toBe(first);
  const closed = running.close();
  await clock.advance(1000);
  await closed;
  expect(await first).toMatchObject({ accounts: { error: 'no_answer' }, changes: { rows: [] } });
});
