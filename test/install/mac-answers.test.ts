import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { install } from '../../installer/install.ts';
import { Launchd } from '../../installer/launchd.ts';
import { machSlicesOf } from '../../installer/mach-o.ts';
import { uninstall } from '../../installer/uninstall.ts';
import { closedAfterEach } from '../support/closed-after-each.ts';
import { type CommandFault, failingCommands, firstCalls } from '../support/failing-commands.ts';
import { machFile } from '../support/mach-o.ts';
import { StandInMac } from '../support/stand-in-mac.ts';

const newMac = closedAfterEach((seed?: number) => StandInMac.start('jane', seed));

async function installed(seed?: number): Promise<StandInMac> {
  const mac = await newMac(seed);
  await install(mac.machine(), mac.options());
  mac.grant();
  mac.forget('asked');
  return mac;
}

async function runningVersion(mac: StandInMac): Promise<string> {
  const answer = await fetch(`http://127.0.0.1:${mac.port}/api/v1/health`);
  return ((await answer.json()) as { version: string }).version;
}

const update = (mac: StandInMac, fault?: CommandFault): Promise<void> => {
  const run = fault === undefined ? mac.run : failingCommands(mac.run, fault);
  return install(mac.machine({ run }), mac.options({ version: '0.2.0' }));
};
const LSREGISTER =
  '/System/Library/Frameworks/CoreServices.framework/Frameworks/LaunchServices.framework/Support/lsregister';

describe('an update that fails after the old agent was told to stop', () => {
  test.each(['launchctl bootout', 'launchctl enable', 'launchctl bootstrap'])(
    'at %s: the old version runs again',
    async (call) => {
      const mac = await installed();
      const failing = update(mac, { matches: firstCalls(call), code: 134 });
      await expect(failing).rejects.toMatchObject({
        code: 'rolled_back',
        hint: expect.stringMatching(/^Version 0\.1\.0-\S+ runs again\./),
      });
      expect(await runningVersion(mac)).toBe('0.1.0');
      expect(readFileSync(mac.layout.plist, 'utf8')).toContain('local.postern.agent');
      await update(mac);
      expect(await runningVersion(mac)).toBe('0.2.0');
    },
  );

  test.each(['current', 'command', 'plist'] as const)(
    'at a file that cannot be written (%s): the same',
    async (what) => {
      const mac = await installed();
      const path = mac.layout[what];
      // As another version would have written it: files that are already equal are not written.
      if (what !== 'current') appendFileSync(path, '\n');
      const before = readFileSync(what === 'current' ? mac.layout.main : path);
      const obstacle = join(dirname(path), `.${path.split('/').at(-1)}.new`);
      mkdirSync(obstacle);
      await expect(update(mac)).rejects.toMatchObject({ hint: expect.stringContaining('0.1.0') });
      rmSync(obstacle, { recursive: true });
      expect(readFileSync(what === 'current' ? mac.layout.main : path)).toEqual(before);
      expect(await runningVersion(mac)).toBe('0.1.0');
    },
  );

  test('the state is taken back too, which the old version could not read once the new one has migrated it', async () => {
    const mac = await installed();
    const state = join(mac.layout.support, 'state.db');
    writeFileSync(state, 'of 0.1.0');
    mac.behave({ permissions: {}, broken: ['0.2.0'], migrates: ['0.2.0'] });
    await expect(update(mac)).rejects.toMatchObject({ code: 'rolled_back' });
    expect(readFileSync(state, 'utf8')).toBe('of 0.1.0');
    expect(existsSync(`${state}-wal`)).toBe(false);
    expect(readdirSync(mac.layout.support).filter((name) => name.startsWith('.state'))).toEqual([]);
    mac.behave({ permissions: {}, migrates: ['0.2.0'] });
    await update(mac);
    expect(readFileSync(state, 'utf8')).toBe('of 0.2.0');
    expect(readdirSync(mac.layout.support).filter((name) => name.startsWith('.state'))).toEqual([]);
  });

  test('a new bundle is taken back too, with its permissions', async () => {
    const mac = await installed();
    const { cdhash, grants } = mac;
    mac.behave({ permissions: {}, broken: ['0.2.0'] });
    const machine = mac.machine({ execPath: mac.keep('newer-node', machFile({ libraries: [] })) });
    const failing = install(machine, mac.options({ version: '0.2.0', renewRuntime: true }));
    await expect(failing).rejects.toMatchObject({ code: 'rolled_back' });
    expect(mac.cdhash).toBe(cdhash);
    expect(mac.grants).toEqual(grants);
    expect(await runningVersion(mac)).toBe('0.1.0');
  });

  test('and cannot be undone either: says that Postern does not run, and why', async () => {
    const mac = await installed();
    const failing = update(mac, { matches: (line) => line.startsWith('launchctl bootstrap'), code: 134 });
    await expect(failing).rejects.toMatchObject({
      code: 'roll_back_failed',
      hint: expect.stringMatching(/^Postern is not running: .*\n.*stop the running agent.*kind of session/),
    });
  });

  test('an agent that was not running is put back without being started', async () => {
    const mac = await installed();
    await new Launchd(mac.run, mac.clock, 501, 'local.postern.agent').bootout();
    const failing = update(mac, { matches: firstCalls('launchctl bootstrap'), code: 134 });
    await expect(failing).rejects.toMatchObject({ hint: expect.stringContaining('so it was not started again') });
    await expect(runningVersion(mac)).rejects.toThrow();
  });
});

describe('a script that this macOS does not understand', () => {
  test('stops the update with file, line and words, before anything is changed', async () => {
    const mac = await installed();
    mac.keep('unknown-words', 'return');
    const problem = await update(mac).catch((error: unknown) => error);
    expect(problem).toMatchObject({
      code: 'script_refused',
      message: expect.stringMatching(/\.applescript, line \d+: Expected end of line.*\(-2741\)\n.*return/),
      hint: expect.stringContaining('Nothing was changed'),
    });
    expect(mac.launchctlVerbs).toEqual([]);
    expect(await runningVersion(mac)).toBe('0.1.0');
  });
});

describe('the bundle', () => {
  test('is the same after uninstalling and installing another version, and its permissions hold', async () => {
    const mac = await installed();
    const { cdhash, grants } = mac;
    await uninstall(mac.machine(), { purge: false });
    await install(mac.machine(), mac.options({ version: '0.2.0' }));
    expect(mac.cdhash).toBe(cdhash);
    expect(mac.grants).toEqual(grants);
    expect(mac.said).toContain('Postern.app is identical to the one that macOS knows, so it keeps its permissions.');
  });

  test('has its own UUID, always the same for one Node', async () => {
    const uuids = [];
    for (const mac of [await installed(), await installed()]) {
      uuids.push(machSlicesOf(join(mac.folder, 'signed', mac.cdhash ?? '')).map(({ uuid }) => uuid));
    }
    expect(uuids[0]).toEqual(uuids[1]);
    expect(uuids[0]).toEqual([expect.stringMatching(/^(?!A3D55146)[0-9A-F]{8}-[0-9A-F]{4}-8[0-9A-F]{3}-[89AB]/)]);
  });

  test('stays when Finder has put an attribute on it', async () => {
    const mac = await installed();
    mac.keep('finder-info');
    await update(mac);
    expect(mac.said).toContain(`${mac.layout.app} does not change and keeps its permissions.`);
    expect(existsSync(join(mac.folder, 'finder-info'))).toBe(false);
  });

  test('is replaced only after the agent has stopped, and registered with LaunchServices before its first use', async () => {
    const mac = await installed();
    const before = mac.cdhash;
    let atBootout: string | undefined;
    const machine = mac.machine({
      execPath: mac.keep('newer-node', machFile({ libraries: [] })),
      run: (command, args, options) => {
        if (args[0] === 'bootout') atBootout = mac.cdhash;
        return mac.run(command, args, options);
      },
    });
    await install(machine, mac.options({ renewRuntime: true }));
    expect(atBootout).toBe(before);
    expect(mac.cdhash).not.toBe(before);
    const order = mac.asked
      .map(([name, verb]) => (name === 'launchctl' ? `launchctl ${verb}` : name))
      .filter((call) => ['lsregister', 'tccutil', 'launchctl bootstrap'].includes(call ?? ''));
    expect(order.slice(0, 2)).toEqual(['lsregister', 'launchctl bootstrap']);
    expect(order.slice(-3)).toEqual(['lsregister', 'tccutil', 'tccutil']);
    expect(mac.grants).toEqual({});
  });

  test('of an installation that failed loses the entries of an older one: its own app stays', async () => {
    const mac = await installed();
    await uninstall(mac.machine(), { purge: false });
    mac.behave({ permissions: {}, broken: ['0.2.0'] });
    const execPath = mac.keep('newer-node', machFile({ libraries: [] }));
    const failing = install(mac.machine({ execPath }), mac.options({ version: '0.2.0' }));
    await expect(failing).rejects.toMatchObject({ code: 'agent_not_healthy' });
    expect(mac.cdhash).toBeDefined();
    expect(mac.grants).toEqual({});
  });

  test('that LaunchServices never heard of makes the update ask the person to remove the entry', async () => {
    const mac = await installed();
    mac.forget('launch-services.json');
    const machine = mac.machine({
      execPath: mac.keep('newer-node', machFile({ libraries: [] })),
      run: failingCommands(mac.run, { matches: (line) => line.startsWith(LSREGISTER), code: 1 }),
    });
    await install(machine, mac.options({ renewRuntime: true }));
    const line = mac.said.find((text) => text.includes('-10814'));
    expect(line).toContain('Full Disk Access, select Postern if it is listed and click −');
  });
});

describe('nobody at the screen', () => {
  test.each([1, 2, 3, 4, 5, 6])(
    'is noticed before anything is installed, with any answer of launchctl (seed %d)',
    async (seed) => {
      const mac = await newMac(seed);
      mac.keep('no-session');
      await expect(install(mac.machine(), mac.options())).rejects.toMatchObject({
        message: expect.stringContaining('Nobody is logged in'),
      });
      expect(existsSync(mac.layout.support)).toBe(false);
    },
  );
});

describe('a port that only lsof sees taken, as macOS lets two programs share one', () => {
  test('stops the installation with the name of the program', async () => {
    const mac = await newMac();
    mkdirSync(mac.layout.support, { recursive: true });
    writeFileSync(mac.layout.config, `port = ${mac.port}\n`);
    mac.keep('lsof', `p4711\ncruby\nn*:${mac.port}\n`);
    await expect(install(mac.machine(), mac.options())).rejects.toMatchObject({
      code: 'port_taken',
      message: `Port ${mac.port} is taken by ruby.`,
    });
    expect(existsSync(mac.layout.app)).toBe(false);
  });
});

describe('a download that failed', () => {
  test('is reported in the words of npm', async () => {
    const mac = await newMac();
    await install(mac.machine(), mac.options());
    expect(mac.said.join('\n')).toContain('npm error network request failed.');
    expect(mac.asked.filter(([name, verb]) => name === 'npm' && verb === 'pack').flat()).toContain('--loglevel=error');
  });
});

describe('a project that was downloaded by a browser', () => {
  test('loses its quarantine', async () => {
    const mac = await newMac();
    mac.keep('quarantine');
    await install(mac.machine(), mac.options());
    expect(await runningVersion(mac)).toBe('0.1.0');
  });
});

describe('an uninstallation', () => {
  test('by root is refused, because root cannot stop the agent', async () => {
    const mac = await installed();
    await expect(uninstall(mac.machine({ uid: 0 }), { purge: true })).rejects.toMatchObject({ code: 'is_root' });
    expect(await runningVersion(mac)).toBe('0.1.0');
  });

  test.each([1, 2, 3])('succeeds with any number that bootout answers (seed %d)', async (seed) => {
    const mac = await installed(seed);
    await uninstall(mac.machine(), { purge: true });
    await expect(runningVersion(mac)).rejects.toThrow();
    expect(existsSync(mac.layout.support)).toBe(false);
  });

  test('of an agent that does not stop continues to the end and says what is left', async () => {
    const mac = await installed();
    mac.keep('never-stops');
    await expect(uninstall(mac.machine(), { purge: true })).rejects.toMatchObject({
      code: 'not_removed',
      message: expect.stringContaining('launchctl bootout gui/501/local.postern.agent'),
    });
    expect(existsSync(mac.layout.plist)).toBe(false);
    expect(existsSync(mac.layout.support)).toBe(false);
  });

  test('that removed the app before says how to remove what tccutil no longer can', async () => {
    const mac = await installed();
    mkdirSync(mac.layout.caches, { recursive: true });
    await uninstall(mac.machine(), { purge: false });
    // Pictures of conversations, which can be rebuilt.
    expect(existsSync(mac.layout.caches)).toBe(false);
    await uninstall(mac.machine(), { purge: true });
    expect(mac.said.join('\n')).toContain('select it there and click −');
  });

  test('takes the app out of the register of LaunchServices, while its files are still there', async () => {
    const mac = await installed();
    expect(mac.read('launch-services.json')).toContain('local.postern');
    await uninstall(mac.machine(), { purge: true });
    expect(JSON.parse(mac.read('launch-services.json'))).toEqual({});
    const calls = mac.asked.map(([name, option]) => `${name} ${option}`);
    expect(calls.lastIndexOf('lsregister -u')).toBeGreaterThan(calls.lastIndexOf('tccutil reset'));
  });

  test('with --purge says when an entry could not be removed', async () => {
    const mac = await installed();
    const run = failingCommands(mac.run, { matches: firstCalls('tccutil reset AppleEvents'), code: 70 });
    await expect(uninstall(mac.machine({ run }), { purge: true })).rejects.toMatchObject({
      message: expect.stringContaining('Automation could not be removed: tccutil ended with 70'),
    });
    expect(existsSync(mac.layout.app)).toBe(false);
  });
});

test.each(['~/SwiftBar', '~'])('the plugin folder of SwiftBar may be stored as %j', async (stored) => {
  const mac = await newMac();
  const plugins = stored.replace('~', mac.home);
  mkdirSync(plugins, { recursive: true });
  mac.keep('swiftbar-folder', stored);
  await install(mac.machine(), mac.options());
  expect(readlinkSync(join(plugins, 'postern.30s.sh'))).toBe(mac.layout.menuPlugin);
  await uninstall(mac.machine(), { purge: false });
  expect(existsSync(join(plugins, 'postern.30s.sh'))).toBe(false);
});

test.each([
  ['~/Gone', '/Gone'],
  ['~other/SwiftBar', undefined],
])('a plugin folder of SwiftBar that is missing is named: %j', async (stored, below) => {
  const mac = await newMac();
  mac.keep('swiftbar-folder', stored);
  await install(mac.machine(), mac.options());
  const folder = below === undefined ? stored : mac.home + below;
  expect(mac.said.join('\n')).toContain(`its plugin folder ${folder} is missing`);
  expect(mac.said.join('\n')).not.toContain('neither SwiftBar nor xbar');
});

test('a plugin folder in Documents is mentioned before macOS asks for it', async () => {
  const mac = await newMac();
  const plugins = join(mac.home, 'Documents', 'SwiftBar');
  mkdirSync(plugins, { recursive: true });
  writeFileSync(join(mac.folder, 'swiftbar-folder'), plugins);
  await install(mac.machine(), mac.options());
  expect(mac.said.join('\n')).toContain(`macOS may ask whether this terminal may open ${plugins}`);
});
