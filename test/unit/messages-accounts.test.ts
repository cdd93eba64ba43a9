import { afterEach, describe, expect, test } from '@jest/globals';
import { MessagesAccounts } from '../../src/core/mac/messages-accounts.ts';
import type { PermissionReport } from '../../src/core/model/ports/permissions-ports.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { collectingLog } from '../support/log.ts';

const HOUR_MS = 60 * 60_000;
const closers: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0)) await close();
});

/** `says` is what the script prints; undefined if Messages is not running. */
function setUp(says: string | undefined, state: PermissionReport['state'] = 'granted') {
  const clock = new FakeClock();
  const now = { says, state, asked: 0 };
  const accounts = new MessagesAccounts({
    osascriptPath: '/usr/bin/osascript',
    run: () => {
      now.asked += 1;
      return Promise.resolve(
        now.says === undefined
          ? { code: 1, stdout: '', stderr: 'Messages is not running. (-600)', trouble: null }
          : { code: 0, stdout: now.says, stderr: '', trouble: null },
      );
    },
    clock,
    log: collectingLog(),
    permissions: {
      get known() {
        return [{ name: 'automation', state: now.state, detail: '' }] as const;
      },
    },
  });
  accounts.start();
  closers.push(() => accounts.close());
  return { accounts, clock, now };
}

describe('the accounts of Messages', () => {
  test.each([
    ['iMessage, SMS, true, true', 'imessage'],
    ['SMS, iMessage, false, true', 'imessage'],
    ['iMessage, SMS, false, true', 'no_imessage'],
    ['SMS, RCS, true, true', 'no_imessage'],
    ['«constant ****», true', 'no_imessage'],
    ['iMessage, SMS, false, false', 'signed_out'],
    ['', 'signed_out'],
  ])('printed as %j are %s', async (says, state) => {
    const { accounts, clock } = setUp(says);
    await clock.advance(60_000);
    expect(accounts.status()).toEqual({ state, checked_at: '2026-01-02T03:05:05Z' });
    expect(accounts.warning() === undefined).toBe(state === 'imessage');
  });

  test('are asked for once a day, and once an hour until iMessage is back', async () => {
    const { accounts, clock, now } = setUp('iMessage, true');
    await clock.advance(24 * HOUR_MS);
    expect(now.asked).toBe(1);
    now.says = 'iMessage, SMS, false, true';
    await clock.advance(HOUR_MS / 2);
    expect(now.asked).toBe(2);
    expect(accounts.warning()).toMatchObject({
      code: 'imessage_signed_out',
      text: expect.stringContaining('not signed in to iMessage'),
    });
    await clock.advance(3 * HOUR_MS);
    expect(now.asked).toBe(5);
    now.says = 'iMessage, SMS, true, true';
    await clock.advance(HOUR_MS);
    expect(accounts.warning()).toBeUndefined();
    await clock.advance(12 * HOUR_MS);
    expect(now.asked).toBe(6);
  });

  test.each(['unknown', 'denied'] as const)('are not asked for while Automation is %s', async (state) => {
    const { accounts, clock, now } = setUp('iMessage, true', state);
    await clock.advance(48 * HOUR_MS);
    expect(now.asked).toBe(0);
    expect(accounts.status()).toBeUndefined();
    now.state = 'granted';
    await clock.advance(60_000);
    expect(now.asked).toBe(1);
  });

  test('stay unknown while Messages does not answer, and are asked for again after an hour', async () => {
    const { accounts, clock, now } = setUp(undefined);
    await clock.advance(HOUR_MS);
    expect(accounts.status()).toBeUndefined();
    expect(now.asked).toBe(1);
    now.says = 'iMessage, true';
    await clock.advance(HOUR_MS);
    expect(accounts.status()?.state).toBe('imessage');
  });
});
