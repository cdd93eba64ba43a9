import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { parse } from 'plist';
import { install } from '../../installer/install.ts';
import { uninstall } from '../../installer/uninstall.ts';
import { closedAfterEach } from '../support/closed-after-each.ts';
import { waitFor } from '../support/eventually.ts';
import { machFile } from '../support/mach-o.ts';
import { StandInMac } from '../support/stand-in-mac.ts';

const newMac = closedAfterEach((userName?: string) => StandInMac.start(userName));

async function health(mac: StandInMac): Promise<{ readonly version: string }> {
  return (await (await fetch(`http://127.0.0.1:${mac.port}/api/v1/health`)).json()) as { version: string };
}

/** Lists everything in the home folder that was not there before the installation. */
function remains(mac: StandInMac): string[] {
  return readdirSync(mac.home, { recursive: true })
    .map(String)
    .filter(
      (path) =>
        !['Library', 'Applications', 'Library/Application Support', 'Library/LaunchAgents', 'Library/Logs'].includes(
          path,
        ),
    );
}

describe('a first installation', () => {
  test('leaves a running agent, a bundle, a configuration and a menu item', async () => {
    const mac = await newMac();
    const plugins = join(mac.folder, 'plugins');
    mkdirSync(plugins);
    mac.keep('swiftbar-folder', plugins);
    const packages = mac.offerNode(machFile({ minimumMacos: 11 << 16 }));

    await install(mac.machine(), mac.options({ packages }));

    expect(await health(mac)).toMatchObject({ version: '0.1.0' });
    expect(mac.said.at(-3)).toBe(`Postern is running at http://127.0.0.1:${mac.port}`);
    expect(statSync(mac.layout.config).mode & 0o777).toBe(0o600);
    expect(statSync(mac.layout.plist).mode & 0o777).toBe(0o644);
    expect(statSync(mac.layout.support).mode & 0o777).toBe(0o700);
    expect(readlinkSync(join(plugins, 'postern.30s.sh'))).toBe(mac.layout.menuPlugin);
    expect(existsSync(mac.layout.menuPlugin)).toBe(true);
    expect(mac.launchctlVerbs).toEqual(['enable', 'bootstrap']);
    // The program that will run the libraries also installed them, before it was put in place.
    expect(mac.read('npm-ci-node')).toContain('Postern.app/Contents/MacOS/Postern');
    expect(readdirSync(join(mac.layout.current, 'node_modules/library'))).toEqual(['index.js']);
    // otool would open a dialog, and the hardened runtime would rule out Automation for good.
    expect(mac.asked.filter(([name]) => name === 'otool')).toEqual([]);
    expect(mac.asked.filter(([name]) => name === 'codesign').flat()).not.toContain('runtime');
  });

  test('builds native libraries from source, in a folder without a space', async () => {
    const mac = await newMac();
    await install(mac.machine(), mac.options());
    expect(mac.asked).toContainEqual(['npm', 'ci', '--omit=dev', '--no-audit', '--no-fund']);
    expect(readFileSync(join(mac.folder, 'npm-ci-from-source'), 'utf8')).toBe('true');
    expect(readFileSync(join(mac.folder, 'npm-ci-folder'), 'utf8')).toMatch(/^\S+\/postern-libraries-\w+\n$/);
    expect(mac.said.join('\n')).toContain('built from source');
  });

  test('leaves native libraries out where there is no compiler, and says so', async () => {
    const mac = await newMac();
    mac.keep('no-compiler');
    await install(mac.machine(), mac.options());
    expect(mac.asked).toContainEqual(['npm', 'ci', '--omit=dev', '--omit=optional', '--no-audit', '--no-fund']);
    expect(mac.said.join('\n')).toContain('this Mac has no compiler (to get one: xcode-select --install)');
    expect(await health(mac)).toMatchObject({ version: '0.1.0' });
  });

  test('says why before each launchctl call that changes something', async () => {
    const mac = await newMac();
    await install(mac.machine(), mac.options());
    await install(mac.machine(), mac.options());
    for (const verb of new Set(mac.launchctlVerbs)) {
      expect(mac.said.some((line) => line.startsWith(`launchctl ${verb}: `))).toBe(true);
    }
  });

  test.each(['Zoë O\'Neil & "Söhne" <x>', 'user name with spaces', '日本 $HOME `id`'])(
    'works for a home folder called %s',
    async (name) => {
      const mac = await newMac(name);
      await install(mac.machine(), mac.options());
      const plist = parse(readFileSync(mac.layout.plist, 'utf8')) as { ProgramArguments: string[] };
      expect(plist.ProgramArguments[0]).toBe(mac.layout.executable);
      expect(await health(mac)).toMatchObject({ version: '0.1.0' });
      const shown = await mac.machine().run(mac.layout.command, ['serve', '--config-dir', join(mac.home, 'elsewhere')]);
      // The stand-in cannot write there; what matters is that the script found both of its files.
      expect(shown.stderr).toContain('config.toml');
      await uninstall(mac.machine(), { purge: true });
      expect(remains(mac)).toEqual([]);
    },
  );
});

describe('a second installation', () => {
  test('leaves an unchanged property list as it is, which macOS could announce as a new background item', async () => {
    const mac = await newMac();
    await install(mac.machine(), mac.options());
    const { ino } = statSync(mac.layout.plist);
    await install(mac.machine(), mac.options());
    expect(statSync(mac.layout.plist).ino).toBe(ino);
    chmodSync(mac.layout.plist, 0o666);
    await install(mac.machine(), mac.options());
    expect(statSync(mac.layout.plist).mode & 0o777).toBe(0o644);
    writeFileSync(mac.layout.plist, 'damaged');
    await install(mac.machine(), mac.options());
    expect(readFileSync(mac.layout.plist, 'utf8')).toContain('local.postern.agent');
  });

  test('keeps the bundle byte for byte, and so its permissions', async () => {
    const mac = await newMac();
    await install(mac.machine(), mac.options());
    mac.forget('asked');
    const before = { program: readFileSync(mac.layout.executable), made: statSync(mac.layout.executable).mtimeMs };
    await install(mac.machine(), mac.options({ version: '0.2.0' }));
    expect(readFileSync(mac.layout.executable)).toEqual(before.program);
    expect(statSync(mac.layout.executable).mtimeMs).toBe(before.made);
    expect(mac.asked.filter(([name]) => name === 'tccutil')).toEqual([]);
    expect(await health(mac)).toMatchObject({ version: '0.2.0' });
  });

  test('replaces the program when asked to, and says that this costs the permissions', async () => {
    const mac = await newMac();
    await install(mac.machine(), mac.options());
    mac.grant();
    mac.forget('asked');
    await install(
      mac.machine({ execPath: mac.keep('newer-node', machFile({ libraries: [] })) }),
      mac.options({ renewRuntime: true }),
    );
    expect(mac.asked.filter(([name]) => name === 'tccutil').map(([, ...rest]) => rest)).toEqual([
      ['reset', 'SystemPolicyAllFiles', 'local.postern'],
      ['reset', 'AppleEvents', 'local.postern'],
    ]);
    expect(mac.said.join('\n')).toContain('requires you to grant its permissions again');
  });

  test('keeps code that is whole, and repairs it where a file is gone or a compiler has come', async () => {
    const mac = await newMac();
    const installs = async (): Promise<number> => {
      mac.forget('asked');
      await install(mac.machine(), mac.options());
      return mac.asked.filter(([name, what]) => name === 'npm' && what === 'ci').length;
    };
    mac.keep('no-compiler');
    expect([await installs(), await installs()]).toEqual([1, 0]);
    for (const file of ['dist/main.js', 'node_modules/library/index.js']) {
      rmSync(join(mac.layout.current, file));
      expect([await installs(), await installs()]).toEqual([1, 0]);
      expect(existsSync(join(mac.layout.current, file))).toBe(true);
    }
    mac.forget('no-compiler');
    expect([await installs(), await installs()]).toEqual([1, 0]);
    mac.keep('no-compiler');
    expect(await installs()).toBe(0);
  });

  test('makes half-installed remains whole', async () => {
    const mac = await newMac();
    mkdirSync(join(mac.layout.app, 'Contents', 'MacOS'), { recursive: true });
    writeFileSync(mac.layout.executable, 'half a program');
    mkdirSync(join(mac.layout.versions, '.postern-new', 'x'), { recursive: true });
    mkdirSync(join(mac.layout.support, '.runtime', 'package'), { recursive: true });
    chmodSync(mac.layout.support, 0o755);
    await install(mac.machine(), mac.options());
    expect(await health(mac)).toMatchObject({ version: '0.1.0' });
    expect(readdirSync(mac.layout.versions)).toHaveLength(1);
    expect(existsSync(join(mac.layout.support, '.runtime'))).toBe(false);
    expect(statSync(mac.layout.support).mode & 0o777).toBe(0o700);
  });

  test('waits for the old agent to be really gone, and tries again after the error 5 of that race', async () => {
    const mac = await newMac();
    await install(mac.machine(), mac.options());
    mac.keep('bootout-race');
    await install(mac.machine(), mac.options({ version: '0.2.0' }));
    expect(mac.launchctlVerbs).toEqual(['enable', 'bootstrap', 'bootout', 'enable', 'bootstrap', 'bootstrap']);
    expect(await health(mac)).toMatchObject({ version: '0.2.0' });
  });

  test('goes back to the version before when the new one does not answer', async () => {
    const mac = await newMac();
    await install(mac.machine(), mac.options());
    mac.behave({ permissions: {}, broken: ['0.2.0'] });
    await expect(install(mac.machine(), mac.options({ version: '0.2.0' }))).rejects.toMatchObject({
      code: 'rolled_back',
      message: expect.stringContaining('this version is broken'),
    });
    expect(await health(mac)).toMatchObject({ version: '0.1.0' });
    expect(readlinkSync(mac.layout.current)).toContain('0.1.0');
  });

  test('keeps the version before and removes older ones', async () => {
    const mac = await newMac();
    for (const version of ['0.1.0', '0.2.0', '0.3.0']) await install(mac.machine(), mac.options({ version }));
    expect(readdirSync(mac.layout.versions).map((id) => id.split('-')[0])).toEqual(['0.2.0', '0.3.0']);
  });
});

describe('what stops an installation, before anything is changed', () => {
  test('another system than macOS', async () => {
    const mac = await newMac();
    await expect(install(mac.machine({ platform: 'linux' }), mac.options())).rejects.toMatchObject({
      hint: expect.stringContaining('make run'),
    });
    await expect(install(mac.machine({ uid: 0 }), mac.options())).rejects.toMatchObject({ code: 'is_root' });
    expect(remains(mac)).toEqual([]);
  });

  test('nobody logged in at the screen', async () => {
    const mac = await newMac();
    mac.keep('no-session');
    await expect(install(mac.machine(), mac.options())).rejects.toMatchObject({
      message: expect.stringContaining('logged in at the screen'),
    });
    expect(remains(mac)).toEqual([]);
  });

  test('a taken port, with its holder', async () => {
    const mac = await newMac();
    mkdirSync(mac.layout.support, { recursive: true });
    writeFileSync(mac.layout.config, `port = ${mac.port}\n`);
    mac.keep('lsof', 'p4711\ncruby\nn127.0.0.1:3001\n');
    const other = createServer().listen(mac.port, '127.0.0.1');
    await waitFor(() => other.listening);
    try {
      await expect(install(mac.machine(), mac.options())).rejects.toMatchObject({
        code: 'port_taken',
        message: `Port ${mac.port} is taken by ruby.`,
        hint: expect.stringContaining('4711'),
      });
    } finally {
      other.close();
    }
    expect(remains(mac)).toEqual([
      'Library/Application Support/Postern',
      'Library/Application Support/Postern/config.toml',
    ]);
  });

  test('a taken port also when the agent runs: on another one', async () => {
    const mac = await newMac();
    await install(mac.machine(), mac.options());
    const other = createServer().listen(0, '127.0.0.1');
    await waitFor(() => other.listening);
    const { port } = other.address() as AddressInfo;
    writeFileSync(mac.layout.config, `port = ${port}\n`);
    mac.keep('lsof', 'p4711\ncruby\nn127.0.0.1:3001\n');
    try {
      await expect(install(mac.machine(), mac.options())).rejects.toMatchObject({ code: 'port_taken' });
    } finally {
      other.close();
    }
    expect(await health(mac)).toMatchObject({ version: '0.1.0' });
  });

  test('a configuration the new version cannot use; one with an unknown key is only mentioned', async () => {
    const mac = await newMac();
    mkdirSync(mac.layout.support, { recursive: true });
    writeFileSync(mac.layout.config, 'port = "3001"\n');
    await expect(install(mac.machine(), mac.options())).rejects.toMatchObject({ code: 'configuration_unusable' });
    const old = `port = ${mac.port}\nold_key = 1\n`;
    writeFileSync(mac.layout.config, old);
    await install(mac.machine(), mac.options());
    expect(mac.said).toContain('Configuration: server.old_key is not known.');
    expect(readFileSync(mac.layout.config, 'utf8')).toBe(old);
  });

  test('a package that is not the pinned one', async () => {
    const mac = await newMac();
    const packages = mac.offerNode(machFile());
    mac.offerNode(machFile({ libraries: ['/tmp/evil.dylib'] }));
    await expect(install(mac.machine(), mac.options({ packages }))).rejects.toMatchObject({ code: 'package_altered' });
    expect(existsSync(mac.layout.app)).toBe(false);
  });

  test('a macOS older than the Node needs', async () => {
    const mac = await newMac();
    mac.keep('macos-version', '10.15.7\n');
    const packages = mac.offerNode(machFile({ minimumMacos: 11 << 16 }));
    await expect(install(mac.machine(), mac.options({ packages }))).rejects.toMatchObject({
      message: expect.stringContaining('needs macOS 11.0; this Mac has 10.15.7'),
    });
  });

  test('no Node to copy but the stub of Homebrew', async () => {
    const mac = await newMac();
    const stub = mac.keep('stub', machFile({ libraries: ['@rpath/libnode.141.dylib', '/usr/lib/libSystem.B.dylib'] }));
    await expect(install(mac.machine({ execPath: stub, path: [] }), mac.options())).rejects.toMatchObject({
      code: 'no_self_contained_node',
      message: expect.stringContaining('Homebrew'),
    });
    expect(existsSync(mac.layout.app)).toBe(false);
  });

  test('a disk that is full while the libraries are installed leaves nothing half-written', async () => {
    const mac = await newMac();
    mac.keep('npm-ci-fails', 'npm error code ENOSPC\n');
    await expect(install(mac.machine(), mac.options())).rejects.toMatchObject({ code: 'disk_full' });
    expect(existsSync(mac.layout.current)).toBe(false);
    expect(readdirSync(mac.layout.versions)).toEqual([]);
    mac.forget('npm-ci-fails');
    await install(mac.machine(), mac.options());
    expect(await health(mac)).toMatchObject({ version: '0.1.0' });
  });

  test('a signature that cannot be made leaves no bundle', async () => {
    const mac = await newMac();
    mac.keep('codesign-fails');
    await expect(install(mac.machine(), mac.options())).rejects.toMatchObject({ code: 'codesign_failed' });
    expect(readdirSync(join(mac.home, 'Applications'))).toEqual([]);
  });
});

describe('launchd that refuses', () => {
  test('an agent once disabled is enabled first', async () => {
    const mac = await newMac();
    mac.keep('disabled-local.postern.agent');
    await install(mac.machine(), mac.options());
    expect(await health(mac)).toMatchObject({ version: '0.1.0' });
  });
});

test('an installation that cannot link into a plugin folder says so and continues, and so does a removal', async () => {
  const mac = await newMac();
  mac.keep('swiftbar-folder', mac.keep('no-folder', ''));
  await install(mac.machine(), mac.options());
  expect(mac.said.join('\n')).toMatch(/^No menu bar item in SwiftBar: ENOTDIR[\s\S]+^Postern is running at /m);
  await expect(uninstall(mac.machine(), { purge: true })).rejects.toThrow(/^Not everything.*\n.*ENOTDIR.*$/);
  expect(remains(mac)).toEqual([]);
});

describe('an uninstallation', () => {
  test('while running removes everything but configuration and state', async () => {
    const mac = await newMac();
    const plugins = join(mac.home, 'Library', 'Application Support', 'xbar', 'plugins');
    mkdirSync(plugins, { recursive: true });
    await install(mac.machine(), mac.options());
    expect(lstatSync(join(plugins, 'postern.30s.sh')).isSymbolicLink()).toBe(true);
    await uninstall(mac.machine(), { purge: false });
    await expect(health(mac)).rejects.toThrow();
    expect(readdirSync(plugins)).toEqual([]);
    expect(
      remains(mac)
        .filter((path) => !path.includes('xbar') && !path.includes('Logs'))
        .sort(),
    ).toEqual(['', '/bundle-cdhash', '/config.toml'].map((path) => `Library/Application Support/Postern${path}`));
  });

  test('with --purge leaves no trace, and twice is fine', async () => {
    const mac = await newMac();
    await install(mac.machine(), mac.options());
    mac.forget('asked');
    await uninstall(mac.machine(), { purge: true });
    const resets = mac.asked.filter(([name]) => name === 'tccutil').map(([, ...rest]) => rest);
    expect(resets).toEqual(
      ['SystemPolicyAllFiles', 'AppleEvents'].map((service) => ['reset', service, 'local.postern']),
    );
    await uninstall(mac.machine(), { purge: true });
    expect(remains(mac)).toEqual([]);
  });

  test.each(['a file', 'a link'])('leaves a plugin alone that is not ours: %s', async (kind) => {
    const mac = await newMac();
    const plugins = join(mac.home, 'Library', 'Application Support', 'xbar', 'plugins');
    mkdirSync(plugins, { recursive: true });
    const plugin = join(plugins, 'postern.30s.sh');
    if (kind === 'a file') writeFileSync(plugin, 'my own');
    else symlinkSync(mac.keep('my-own.sh', 'my own'), plugin);
    await install(mac.machine(), mac.options());
    await uninstall(mac.machine(), { purge: true });
    expect(readFileSync(plugin, 'utf8')).toBe('my own');
  });
});
