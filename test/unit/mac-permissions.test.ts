import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { MacPermissions } from '../../src/core/mac/mac-permissions.ts';
import { eventually } from '../support/eventually.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { FakeExecutable } from '../support/fake-osascript.ts';
import { temporaryFolder } from '../support/temporary.ts';

const folder = temporaryFolder();

describe('Full Disk Access', () => {
  const ask = async (platform: string, status: string | undefined, chatDb?: 'granted' | 'denied') => {
    const permissions = new MacPermissions({
      platform,
      osascriptPath: join(folder, 'none'),
      clock: new FakeClock(),
      chatDbAccess: () => chatDb,
      loadNative: async () => {
        if (status === undefined) throw new Error('not installed');
        return { default: { getAuthStatus: () => status } };
      },
    });
    const report = await permissions.fullDiskAccess();
    expect(report.name).toBe('full_disk_access');
    expect(report.detail).toMatch(/\.$/);
    return report.state;
  };

  test('is what opening chat.db says, whatever a native probe of other files says', async () => {
    expect(await ask('darwin', 'authorized', 'denied')).toBe('denied');
    expect(await ask('darwin', 'denied', 'granted')).toBe('granted');
    expect(await ask('darwin', undefined, 'denied')).toBe('denied');
    expect(await ask('darwin', 'not determined', 'granted')).toBe('granted');
    expect(await ask('linux', 'denied', 'granted')).toBe('granted');
  });

  test('is the hint of a native probe only while chat.db says nothing', async () => {
    expect(await ask('darwin', 'authorized')).toBe('granted');
    expect(await ask('darwin', 'denied')).toBe('denied');
    expect(await ask('darwin', 'restricted')).toBe('denied');
  });

  test('is unknown where nobody can say', async () => {
    expect(await ask('darwin', undefined)).toBe('unknown');
    expect(await ask('linux', 'authorized')).toBe('unknown');
  });

  test('works without the native module being there', async () => {
    const permissions = new MacPermissions({ platform: 'darwin', osascriptPath: '/none', clock: new FakeClock() });
    expect((await permissions.fullDiskAccess()).state).toMatch(/^(granted|denied|unknown)$/);
  });
});

describe('Automation', () => {
  const setUp = () => {
    const fake = new FakeExecutable(folder);
    const clock = new FakeClock();
    return { fake, clock, permissions: new MacPermissions({ platform: 'linux', osascriptPath: fake.path, clock }) };
  };

  test('is granted when the harmless script runs, which is all that osascript gets', async () => {
    const { fake, clock, permissions } = setUp();
    expect(await permissions.automation()).toMatchObject({ name: 'automation', state: 'granted' });
    expect(fake.runs()[0]?.argv).toEqual([expect.stringMatching(/\/src\/core\/mac\/automation\.applescript$/)]);
    expect(fake.runs()[0]?.env).toEqual({ LANG: 'en_US.UTF-8' });
    expect(clock.pending).toBe(0);
  });

  test.each([
    ['execution error: User consent is needed. (-1744)', 'denied', 'no_dialog', 'without asking anybody'],
    ['execution error: AppleEvent timed out. (-1712)', 'unknown', 'failed', 'in time'],
    ['execution error: odd (-10000)', 'unknown', 'failed', '-10000'],
    ['', 'unknown', 'failed', 'could not ask Messages'],
  ])('%s', async (stderr, state, reason, words) => {
    const { fake, permissions } = setUp();
    fake.plan({ exit: 1, stderr });
    const report = await permissions.automation();
    expect(report).toEqual({ name: 'automation', state, reason, detail: expect.stringContaining(words) });
    expect(permissions.known).toEqual([report]);
  });

  test.each([
    'execution error: Not authorized to send Apple events to Messages. (-1743)',
    'execution error: 未获得将Apple事件发送给信息的授权。 (-1743)',
  ])('refused at once nobody can have seen a dialog; refused after a while somebody has: %s', async (stderr) => {
    const { fake, clock, permissions } = setUp();
    const step = { exit: 1, stderr };
    fake.plan(step);
    expect(await permissions.automation()).toMatchObject({ state: 'denied', reason: 'no_dialog' });
    fake.plan({ ...step, waitsForFile: join(folder, 'answered') });
    const asked = permissions.automation();
    await eventually(() => expect(fake.runs().length).toBe(2));
    await clock.advance(400);
    writeFileSync(join(folder, 'answered'), '');
    expect(await asked).toMatchObject({ state: 'denied', reason: 'refused' });
    // The user said no, and the next quick answer does not change that.
    fake.plan(step);
    expect(await permissions.automation()).toMatchObject({ reason: 'refused' });
    rmSync(join(folder, 'answered'));
  });

  test('a person who thinks about the dialog does not make Messages look slow', async () => {
    const { fake, clock, permissions } = setUp();
    const answered = join(folder, 'thought-about');
    const takes = async (ms: number): Promise<void> => {
      const runs = fake.runs().length;
      fake.plan({ waitsForFile: answered });
      const asked = permissions.automation();
      await eventually(() => expect(fake.runs().length).toBe(runs + 1));
      await clock.advance(ms);
      writeFileSync(answered, '');
      await asked;
      rmSync(answered);
    };
    await takes(9000);
    expect(permissions.answer).toBeUndefined();
    await takes(120);
    expect(permissions.answer).toEqual({ answer_ms: 120, checked_at: '2026-01-02T03:04:14Z' });
    fake.plan({ exit: 1, stderr: 'execution error: AppleEvent timed out. (-1712)' });
    await permissions.automation();
    expect(permissions.answer?.answer_ms).toBe(120);
  });

  test('is unknown where there is no osascript, or it dies or babbles', async () => {
    const missing = new MacPermissions({
      platform: 'linux',
      osascriptPath: join(folder, 'none'),
      clock: new FakeClock(),
    });
    expect(await missing.automation()).toMatchObject({ state: 'unknown', detail: expect.stringContaining('ENOENT') });
    const { fake, permissions } = setUp();
    fake.plan({ signal: 'SIGABRT' }, { exit: 1, stderr: 'x'.repeat(1_000_000) });
    expect((await permissions.automation()).state).toBe('unknown');
    expect((await permissions.automation()).state).toBe('unknown');
  });

  test('has one question open at a time: it is joined, answered within 20 s as still open, and ends after 610 s', async () => {
    const { fake, clock, permissions } = setUp();
    fake.plan({ hang: true });
    const first = permissions.automation();
    await eventually(() => expect(fake.runs().length).toBe(1));
    await clock.advance(20_000);
    expect(await first).toMatchObject({
      state: 'unknown',
      reason: 'asking',
      detail: expect.stringContaining('screen'),
    });
    const second = permissions.automation();
    await clock.advance(20_000);
    expect(await second).toMatchObject({ reason: 'asking' });
    const last = permissions.automation();
    await clock.advance(15_000);
    await clock.advance(610_000 - 55_000);
    await last;
    await eventually(() => expect(permissions.known[0]?.reason).toBe('failed'));
    expect(fake.runs()).toHaveLength(1);
    expect(clock.pending).toBe(0);
    process.kill(fake.runs()[0]?.childPid ?? 0, 'SIGKILL');
  });

  test('holds back a send for 20 s at most, and the next ones not at all, until the person answers', async () => {
    const { fake, clock, permissions } = setUp();
    fake.plan({ waitsForFile: join(folder, 'allowed') });
    const first = permissions.isAsking();
    await eventually(() => expect(fake.runs().length).toBe(1));
    await clock.advance(20_000);
    expect(await first).toBe(true);
    expect(await permissions.isAsking()).toBe(true);
    writeFileSync(join(folder, 'allowed'), '');
    await eventually(() => expect(permissions.known[0]?.state).toBe('granted'));
    expect(await permissions.isAsking()).toBe(false);
    expect(fake.runs()).toHaveLength(1);
  });

  test('ends its question with the service', async () => {
    const { fake, clock, permissions } = setUp();
    fake.plan({ hang: true });
    const asking = permissions.automation();
    await eventually(() => expect(fake.runs().length).toBe(1));
    await permissions.close();
    expect((await asking).state).toBe('unknown');
    expect(clock.pending).toBe(0);
    process.kill(fake.runs()[0]?.childPid ?? 0, 'SIGKILL');
  });
});
