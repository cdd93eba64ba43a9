import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { macPermissions } from '../../src/mac/permissions.ts';
import { eventually } from '../support/eventually.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { FakeExecutable } from '../support/fake-osascript.ts';
import { temporaryFolder } from '../support/temporary.ts';

const folder = temporaryFolder();

describe('Full Disk Access', () => {
  const ask = async (platform: string, status: string | undefined, chatDb?: 'granted' | 'denied') => {
    const permissions = macPermissions({
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

  test('is what macOS says', async () => {
    expect(await ask('darwin', 'authorized', 'denied')).toBe('granted');
    expect(await ask('darwin', 'denied')).toBe('denied');
    expect(await ask('darwin', 'restricted')).toBe('denied');
  });

  test('is what SQLite says where macOS cannot be asked', async () => {
    expect(await ask('darwin', undefined, 'denied')).toBe('denied');
    expect(await ask('darwin', 'not determined', 'granted')).toBe('granted');
    expect(await ask('linux', 'denied', 'granted')).toBe('granted');
  });

  test('is unknown where nobody can say', async () => {
    expect(await ask('darwin', undefined)).toBe('unknown');
    expect(await ask('linux', 'authorized')).toBe('unknown');
  });

  test('works without the native module being there', async () => {
    const permissions = macPermissions({ platform: 'darwin', osascriptPath: '/none', clock: new FakeClock() });
    expect((await permissions.fullDiskAccess()).state).toMatch(/^(granted|denied|unknown)$/);
  });
});

describe('Automation', () => {
  const setUp = () => {
    const fake = new FakeExecutable(folder);
    const clock = new FakeClock();
    return { fake, clock, permissions: macPermissions({ platform: 'linux', osascriptPath: fake.path, clock }) };
  };

  test('is granted when the harmless script runs, which is all that osascript gets', async () => {
    const { fake, clock, permissions } = setUp();
    expect(await permissions.automation()).toMatchObject({ name: 'automation', state: 'granted' });
    expect(fake.runs()[0]?.argv).toEqual([expect.stringMatching(/\/src\/mac\/automation\.applescript$/)]);
    expect(fake.runs()[0]?.env).toEqual({ LANG: 'en_US.UTF-8' });
    expect(clock.pending).toBe(0);
  });

  test.each([
    ['execution error: Not authorized to send Apple events to Messages. (-1743)', 'denied', 'System Settings'],
    ['execution error: 未获得将Apple事件发送给信息的授权。 (-1743)', 'denied', 'System Settings'],
    ['execution error: User consent is needed. (-1744)', 'denied', 'has not asked'],
    ['execution error: Messages is not running. (-600)', 'unknown', 'not running'],
    ['execution error: AppleEvent timed out. (-1712)', 'unknown', 'in time'],
    ['execution error: odd (-10000)', 'unknown', '-10000'],
    ['', 'unknown', 'could not be asked'],
  ])('%s', async (stderr, state, words) => {
    const { fake, permissions } = setUp();
    fake.plan({ exit: 1, stderr });
    expect(await permissions.automation()).toEqual({
      name: 'automation',
      state,
      detail: expect.stringContaining(words),
    });
  });

  test('is unknown where there is no osascript, or it dies or babbles', async () => {
    const missing = macPermissions({ platform: 'linux', osascriptPath: join(folder, 'none'), clock: new FakeClock() });
    expect(await missing.automation()).toMatchObject({ state: 'unknown', detail: expect.stringContaining('ENOENT') });
    const { fake, permissions } = setUp();
    fake.plan({ signal: 'SIGABRT' }, { exit: 1, stderr: 'x'.repeat(1_000_000) });
    expect((await permissions.automation()).state).toBe('unknown');
    expect((await permissions.automation()).state).toBe('unknown');
  });

  test('never hangs when macOS waits for a person', async () => {
    const { fake, clock, permissions } = setUp();
    fake.plan({ hang: true });
    const asking = permissions.automation();
    const [run] = await eventually(() => (fake.runs().length === 1 ? fake.runs() : undefined));
    await clock.advance(20_000);
    expect(await asking).toMatchObject({ state: 'unknown', detail: expect.stringContaining('on the screen') });
    process.kill(run?.childPid ?? 0, 'SIGKILL');
  });
});
