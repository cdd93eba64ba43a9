import { existsSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from '@jest/globals';
import { install } from '../../installer/install.ts';
import { uninstall } from '../../installer/uninstall.ts';
import { diagnosticsExample } from '../../src/features/doctor/document.ts';
import { ChatFixture } from '../support/chat-fixture.ts';
import { eventually, waitFor } from '../support/eventually.ts';
import { machFile } from '../support/mach-o.ts';
import { StandInMac } from '../support/stand-in-mac.ts';

/** Diagnostics with two turns of a game among the newest rows. */
const SHAPES = { ...diagnosticsExample.data_shapes, associated_types: { 0: 40, 2: 2 } };

const macs: StandInMac[] = [];
async function newMac(): Promise<StandInMac> {
  const mac = await StandInMac.start();
  macs.push(mac);
  return mac;
}
afterEach(async () => {
  for (const mac of macs.splice(0)) await mac.close();
});

describe('the permissions', () => {
  test('the right panes are opened, and it continues by itself when they are granted', async () => {
    const mac = await newMac();
    mac.behave({ permissions: { full_disk_access: 'denied', automation: 'unknown' }, busyChecks: 2 });
    const done = install(mac.machine(), mac.options());
    const pane = (name: string): Promise<unknown> =>
      waitFor(() => mac.asked.some(([program, url]) => program === 'open' && url?.endsWith(`?${name}`) === true));
    await pane('Privacy_AllFiles');
    mac.behave({ permissions: { full_disk_access: 'granted', automation: 'denied' } });
    await pane('Privacy_Automation');
    mac.behave({ permissions: { full_disk_access: 'granted', automation: 'granted' } });
    await done;
    expect(mac.said).toEqual(expect.arrayContaining(['✓ Full Disk Access', '✓ Automation of Messages']));
  });

  test.each([
    ['', 1],
    ['[backend]\nassociated_rows = "by_kind"\n', 0],
  ])('messages of apps in chat.db are mentioned once, unless config.toml shows them: %j', async (settings, times) => {
    const mac = await newMac();
    const permissions = { full_disk_access: 'granted', automation: 'granted' } as const;
    mac.behave({ permissions, diagnostics: { ...diagnosticsExample, data_shapes: SHAPES } });
    mkdirSync(mac.layout.support, { recursive: true, mode: 0o700 });
    const toml = `[server]\nport = ${mac.port}\n[auth]\napi_key = "cardboard"\n${settings}`;
    writeFileSync(mac.layout.config, toml, { mode: 0o600 });
    await install(mac.machine(), mac.options());
    const line = `To show such rows as messages, set associated_rows = "by_kind" under [backend] in ${mac.layout.config}, then restart Postern.`;
    expect(mac.said.filter((said) => said.endsWith(line))).toHaveLength(times);
  });

  test('it gives up after a while, which is no failure', async () => {
    const mac = await newMac();
    mac.behave({ permissions: { full_disk_access: 'denied', automation: 'granted' } });
    await install(mac.machine(), mac.options({ permissionsLimitMs: 8_000 }));
    expect(mac.said.join('\n')).toContain('Still missing: Full Disk Access and Automation of Messages.');
  });

  test('one that does not wait says that the agent notices a permission by itself', async () => {
    const mac = await newMac();
    mac.behave({ permissions: { full_disk_access: 'denied', automation: 'granted' } });
    await install(mac.machine(), mac.options({ permissionsLimitMs: 0 }));
    expect(mac.said).toContain('  Grant it when you like: the agent notices.');
    expect(mac.said.join('\n')).not.toContain('Waiting for this permission');
  });

  test('an agent without a Unix socket is installed, and sent nothing', async () => {
    const mac = await newMac();
    mkdirSync(mac.layout.support, { recursive: true, mode: 0o700 });
    const toml = `[server]\nport = ${mac.port}\n[auth]\napi_key = "cardboard"\n`;
    writeFileSync(mac.layout.config, toml, { mode: 0o600 });
    writeFileSync(join(mac.layout.support, 'postern.sock'), 'mine');
    await install(mac.machine(), mac.options());
    expect(mac.said.join('\n')).toMatch(
      /The agent could not be asked which permissions it has\. .*postern\.sock is a file/,
    );
    expect(mac.said).toContain(`Postern is running at http://127.0.0.1:${mac.port}`);
  });

  test('the reason is shown whenever it changes, and only then', async () => {
    const mac = await newMac();
    const permissions = { full_disk_access: 'granted', automation: 'unknown' } as const;
    mac.behave({
      permissions,
      details: { automation: 'Messages is not running.' },
      reasons: { automation: 'messages_closed' },
    });
    const done = install(mac.machine(), mac.options());
    await eventually(() => expect(mac.said).toContain('  Messages is not running.'));
    mac.behave({ permissions, details: { automation: 'macOS is asking.' }, reasons: { automation: 'asking' } });
    await eventually(() => expect(mac.said).toContain('  macOS is asking.'));
    mac.behave({ permissions: { ...permissions, automation: 'granted' } });
    await done;
    expect(mac.said.filter((line) => line.includes('Messages is not running.'))).toHaveLength(1);
    // While macOS asks, a window of System Settings would cover the question.
    expect(mac.asked.filter(([program]) => program === 'open')).toEqual([]);
  });

  test('Automation is not asked for before Full Disk Access is settled', async () => {
    const mac = await newMac();
    mac.behave({
      permissions: { full_disk_access: 'denied', automation: 'denied' },
      details: { automation: 'Asked.' },
    });
    await install(mac.machine(), mac.options({ permissionsLimitMs: 30_000 }));
    expect(mac.said.join('\n')).not.toContain('Asked.');
    expect(mac.said).toContain('  No permission to open the Messages database.');
  });

  describe('an earlier "Don\'t Allow", which macOS answers at once', () => {
    const RESET = ['tccutil', 'reset', 'AppleEvents', 'local.postern'];

    /** Installs over an agent that was refused once. `tccutil` is the exit code of that program on this Mac. */
    async function refused(dialog: 'allow' | 'refuse' | 'none', agrees: boolean, tccutil = 0) {
      const mac = await newMac();
      await install(mac.machine(), mac.options());
      mac.keep('tcc.json', JSON.stringify({ AppleEvents: 'refused' }));
      mac.behave({ permissions: { full_disk_access: 'granted', automation: 'denied' }, dialog });
      const [before, saidBefore] = [mac.asked.length, mac.said.length];
      const questions: string[] = [];
      const ran: string[] = [];
      const run: typeof mac.run = (command, args, options) => {
        ran.push(command);
        return command === 'tccutil' && tccutil !== 0
          ? Promise.resolve({ code: tccutil, stdout: '', stderr: '', trouble: null })
          : mac.run(command, args, options);
      };
      const confirm = (question: string): Promise<boolean> => {
        questions.push(question);
        ran.length = 0;
        return Promise.resolve(agrees);
      };
      await install(mac.machine({ run }), mac.options({ permissionsLimitMs: 60_000, confirm }));
      const asked = mac.asked.slice(before);
      return {
        questions: questions.length,
        resets: asked.filter(([name]) => name === 'tccutil'),
        panes: asked.filter(([name, url]) => name === 'open' && url?.endsWith('?Privacy_Automation')).length,
        isGranted: mac.said.slice(saidBefore).includes('✓ Automation of Messages'),
        said: mac.said.join('\n'),
        /** Programs that the installer started after asking. */
        ran: new Set(ran),
      };
    }

    test('is forgotten once, for Postern alone, and the agent itself asks again', async () => {
      const { ran, said, ...seen } = await refused('allow', true);
      expect(seen).toEqual({ questions: 1, resets: [RESET], panes: 0, isGranted: true });
      expect(said).toContain('It remembers a "Don\'t Allow"');
      // A child of the terminal would ask in the terminal's name.
      expect([...ran].filter((program) => !program.endsWith('/lsregister'))).toEqual(['tccutil']);
    });

    test('leads to the pane where the switch is when macOS still does not ask', async () => {
      const seen = await refused('none', true);
      expect(seen).toMatchObject({ questions: 1, resets: [RESET], panes: 1, isGranted: false });
    });

    test('leads to the pane when the person says no again', async () => {
      const seen = await refused('refuse', true);
      expect(seen).toMatchObject({ questions: 1, resets: [RESET], panes: 1, isGranted: false });
    });

    test('stays when the person does not agree, and the pane is shown', async () => {
      const seen = await refused('allow', false);
      expect(seen).toMatchObject({ questions: 1, resets: [], panes: 1, isGranted: false });
    });

    test('that macOS does not forget is reported with the error, and the pane is shown', async () => {
      const seen = await refused('allow', true, 70);
      expect(seen).toMatchObject({ questions: 1, panes: 1, isGranted: false });
      expect(seen.said).toContain('tccutil ended with 70');
    });
  });
});

describe('another account of the same Mac that has Postern', () => {
  const AUTOMATION = ['tccutil', 'reset', 'AppleEvents', 'local.postern'];
  const GRANTED = { full_disk_access: 'granted', automation: 'granted' } as const;
  const DENIED = { full_disk_access: 'denied', automation: 'granted' } as const;

  /** Postern with Full Disk Access in one account, and a second account without Postern. */
  async function twoAccounts() {
    const first = await newMac();
    await install(first.machine(), first.options());
    first.grant();
    const second = await first.otherAccount('ben');
    macs.unshift(second);
    const resets = (): readonly (readonly string[])[] => second.asked.filter(([name]) => name === 'tccutil');
    return { first, second, resets };
  }

  test.each([
    ['that can read chat.db', GRANTED],
    ['that cannot read chat.db', DENIED],
  ])('keeps its Full Disk Access through a first installation here %s', async (_, permissions) => {
    const { first, second, resets } = await twoAccounts();
    second.behave({ permissions });
    await install(second.machine(), second.options({ permissionsLimitMs: 0 }));
    expect(resets()).toEqual([AUTOMATION]);
    expect(first.grants).toEqual({ SystemPolicyAllFiles: first.cdhash, AppleEvents: first.cdhash });
  });

  test('keeps its Full Disk Access through another Node here, and the installation says so', async () => {
    const { first, second, resets } = await twoAccounts();
    await install(second.machine(), second.options());
    second.forget('asked');
    const execPath = second.keep('newer-node', machFile({ libraries: [] }));
    await install(second.machine({ execPath }), second.options({ renewRuntime: true, permissionsLimitMs: 0 }));
    expect(resets()).toEqual([AUTOMATION]);
    expect(first.grants.SystemPolicyAllFiles).toBe(first.cdhash);
    expect(second.said.join('\n')).toContain(`${first.layout.app} uses it too`);
  });

  test('keeps its Full Disk Access through --purge here, which says so, also when the app was removed before', async () => {
    const { first, second, resets } = await twoAccounts();
    await install(second.machine(), second.options());
    second.forget('asked');
    await uninstall(second.machine(), { purge: true });
    expect(resets()).toEqual([AUTOMATION]);
    expect(first.grants.SystemPolicyAllFiles).toBe(first.cdhash);
    expect(second.said.join('\n')).toContain(`${first.layout.app} uses it too`);
    mkdirSync(second.layout.support, { recursive: true });
    await uninstall(second.machine(), { purge: true });
    expect(second.said.join('\n')).not.toContain('select it there and click −');
  });

  test('is assumed where a home folder cannot be looked into', async () => {
    const mac = await newMac();
    await install(mac.machine(), mac.options());
    mac.grant();
    // Unlike a folder without rights, a link to itself also stops root.
    symlinkSync('locked', join(mac.folder, 'locked'));
    mac.forget('asked');
    await uninstall(mac.machine(), { purge: true });
    expect(mac.asked.filter(([name]) => name === 'tccutil')).toEqual([AUTOMATION]);
    expect(mac.said.join('\n')).toContain('which this account cannot see');
  });

  test('that does not exist makes the last account with Postern remove the entry', async () => {
    const { first, second } = await twoAccounts();
    await uninstall(first.machine(), { purge: true });
    expect(second.grants).toEqual({});
  });
});

test('a first installation keeps Full Disk Access that works, and removes an entry that does not', async () => {
  const mac = await newMac();
  await install(mac.machine(), mac.options());
  mac.grant();
  await uninstall(mac.machine(), { purge: false });
  rmSync(mac.layout.knownCdhash);
  await install(mac.machine(), mac.options());
  expect(mac.grants).toEqual({ SystemPolicyAllFiles: mac.cdhash });
  await uninstall(mac.machine(), { purge: false });
  rmSync(mac.layout.knownCdhash);
  const execPath = mac.keep('newer-node', machFile({ libraries: [] }));
  await install(mac.machine({ execPath }), mac.options({ permissionsLimitMs: 0 }));
  expect(mac.grants).toEqual({});
});

describe('staged attachments', () => {
  async function withStagedFiles(): Promise<{ mac: StandInMac; folder: (name: string) => string; messages: string }> {
    const mac = await newMac();
    const messages = join(mac.home, 'Library', 'Messages');
    const folder = (name: string): string => join(messages, 'Attachments', 'Postern', name);
    for (const name of ['shown', 'unused']) {
      mkdirSync(folder(name), { recursive: true });
      writeFileSync(join(folder(name), 'photo.png'), 'photo');
    }
    return { mac, folder, messages };
  }

  test('that a conversation shows are kept by --purge, and named', async () => {
    const { mac, folder, messages } = await withStagedFiles();
    const database = new ChatFixture(join(messages, 'chat.db'));
    database.attach(database.message({ text: 'look' }), '~/Library/Messages/Attachments/Postern/shown/photo.png');
    await uninstall(mac.machine(), { purge: true });
    expect(existsSync(join(folder('shown'), 'photo.png'))).toBe(true);
    expect(existsSync(folder('unused'))).toBe(false);
    expect(mac.said.join('\n')).toContain(`Kept: ${folder('')}`.replace(/\/$/, ''));
  });

  test('are all kept when chat.db cannot be read, and all removed when no conversation shows one', async () => {
    const { mac, folder, messages } = await withStagedFiles();
    await uninstall(mac.machine(), { purge: true });
    expect(existsSync(folder('unused'))).toBe(true);
    expect(mac.said.join('\n')).toContain('This terminal cannot read it');
    new ChatFixture(join(messages, 'chat.db'));
    await uninstall(mac.machine(), { purge: true });
    expect(existsSync(folder(''))).toBe(false);
  });
});
