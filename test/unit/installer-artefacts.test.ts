import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { inflateSync } from 'node:zlib';
import { describe, expect, test } from '@jest/globals';
import { parse } from 'plist';
import { infoPlist, programUuid } from '../../installer/app-bundle.ts';
import { layoutOf } from '../../installer/install-layout.ts';
import { agentPlist } from '../../installer/release.ts';
import { testIf } from '../support/conditions.ts';
import { temporaryFolder } from '../support/temporary.ts';

const folder = temporaryFolder();
const template = readFileSync(
  fileURLToPath(new URL('../../launchd/local.postern.agent.plist', import.meta.url)),
  'utf8',
);
const hasPlistutil = spawnSync('plistutil', ['--version']).status === 0;

/** Reports whether a second implementation of Apple's format accepts the text. */
function passesPlistutil(xml: string): boolean {
  const file = join(folder, 'checked.plist');
  writeFileSync(file, xml);
  // It exits with 0 even if it refuses a file; then it writes none.
  const { stdout } = spawnSync('plistutil', ['-i', file, '-f', 'bin']);
  return stdout.subarray(0, 8).toString() === 'bplist00';
}

const HOMES = ['/Users/jane', '/Users/jane & "joe" <x>', "/Users/O'Neil Zoë", '/Users/日本 ]]> {{main}}'];

describe("the agent's property list", () => {
  test.each(HOMES)('has the keys launchd needs, for the home folder %s', (home) => {
    const layout = layoutOf(home);
    expect(parse(agentPlist(template, layout))).toEqual({
      Label: 'local.postern.agent',
      ProgramArguments: [layout.executable, layout.main, 'serve', '--supervised', '--config-dir', layout.support],
      AssociatedBundleIdentifiers: ['local.postern'],
      WorkingDirectory: layout.support,
      RunAtLoad: true,
      KeepAlive: { SuccessfulExit: false },
      ThrottleInterval: 10,
      ExitTimeOut: 20,
      ProcessType: 'Interactive',
      LimitLoadToSessionType: 'Aqua',
      Umask: 63,
      EnvironmentVariables: { LANG: 'en_US.UTF-8', NODE_OPTIONS: '' },
      StandardOutPath: layout.logFiles[0],
      StandardErrorPath: layout.logFiles[1],
    });
  });

  testIf(hasPlistutil, 'needs plistutil')('is one for plistutil too', () => {
    expect(passesPlistutil('<plist><dict><key>x</dict>')).toBe(false);
    for (const home of HOMES) expect(passesPlistutil(agentPlist(template, layoutOf(home)))).toBe(true);
    expect(passesPlistutil(infoPlist('0.1.0'))).toBe(true);
  });
});

describe('the bundle', () => {
  test('says why it wants what it wants, and shows no icon in the Dock', () => {
    expect(parse(infoPlist('0.1.0'))).toMatchObject({
      CFBundleIdentifier: 'local.postern',
      CFBundleExecutable: 'Postern',
      CFBundlePackageType: 'APPL',
      LSUIElement: true,
      NSAppleEventsUsageDescription: expect.stringContaining('Messages'),
      NSLocalNetworkUsageDescription: expect.stringContaining('network'),
    });
  });

  test('is made of bytes that stay the same: a change costs permissions at the next new bundle', () => {
    const hash = createHash('sha256')
      .update(infoPlist('22.23.2'))
      .update(readFileSync(new URL('../../installer/Postern.icns', import.meta.url)))
      .update(programUuid('22.23.2', 'arm64'));
    expect(hash.digest('hex')).toBe('04f01282250506b1359c859c5f973565e64f6c1ca8b4e8843d90caf64a1d2b1b');
  });

  test('has an icon whose images are whole', () => {
    const file = readFileSync(new URL('../../installer/Postern.icns', import.meta.url));
    expect(file.readUInt32BE(4)).toBe(file.length);
    const names: string[] = [];
    for (let at = 8; at < file.length; at += file.readUInt32BE(at + 4)) {
      names.push(file.toString('latin1', at, at + 4));
      const png = file.subarray(at + 8, at + file.readUInt32BE(at + 4));
      const side = png.readUInt32BE(16);
      const data = png.indexOf('IDAT');
      expect(inflateSync(png.subarray(data + 4, data + 4 + png.readUInt32BE(data - 4)))).toHaveLength(
        (side * 4 + 1) * side,
      );
    }
    expect(names).toEqual(['ic11', 'ic12', 'ic07', 'ic08']);
  });
});
