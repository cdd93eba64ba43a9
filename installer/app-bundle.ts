import { chmodSync, constants, copyFileSync, existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { build } from 'plist';
import { AppError } from '../src/domain/errors.ts';
import { icns } from './icon.ts';
import { BUNDLE_ID, type Layout } from './layout.ts';
import type { Machine } from './machine.ts';
import { buildFolder } from './staging.ts';

/** The person reads these two in the system's own dialogs. */
const WHY_AUTOMATION =
  'Postern sends your messages by driving Messages. Without this, programs can read through Postern but not send.';
const WHY_LOCAL_NETWORK =
  'Postern delivers events to the webhooks you registered; some of them may be on other machines in your network.';

/** What macOS reads about the bundle. `version` is that of the Postern that made it: updates leave the bundle alone. */
export function infoPlist(version: string): string {
  return build({
    CFBundleIdentifier: BUNDLE_ID,
    CFBundleName: 'Postern',
    CFBundleDisplayName: 'Postern',
    CFBundleExecutable: 'Postern',
    CFBundleIconFile: 'Postern.icns',
    CFBundlePackageType: 'APPL',
    CFBundleInfoDictionaryVersion: '6.0',
    CFBundleShortVersionString: version,
    CFBundleVersion: version,
    LSMinimumSystemVersion: '11.0',
    LSUIElement: true,
    NSAppleEventsUsageDescription: WHY_AUTOMATION,
    NSLocalNetworkUsageDescription: WHY_LOCAL_NETWORK,
  });
}

/** True when the bundle is whole: sealed as it was signed, and its program runs. */
export async function isBundleSound(machine: Machine, layout: Layout): Promise<boolean> {
  if (!existsSync(layout.executable)) return false;
  const verified = await machine.run('codesign', ['--verify', '--strict', layout.app]);
  return verified.code === 0 && (await runtimeOf(machine, layout.executable)) !== undefined;
}

/** Version of this Node and of its interface to native modules; undefined when it does not run. */
export async function runtimeOf(
  machine: Machine,
  executable: string,
): Promise<{ readonly version: string; readonly abi: string } | undefined> {
  const result = await machine.run(executable, ['-p', 'process.versions.node + " " + process.versions.modules']);
  const [version, abi] = result.stdout.trim().split(' ');
  return result.code === 0 && version !== undefined && abi !== undefined ? { version, abi } : undefined;
}

/**
 * Makes the bundle around a copy of `node`. macOS ties the permissions to its signature, so this is done once
 * and again only when asked for; the code that changes lies elsewhere.
 */
export async function makeBundle(machine: Machine, layout: Layout, node: string, version: string): Promise<void> {
  await buildFolder(layout.app, async (app) => {
    const contents = join(app, 'Contents');
    const executable = join(contents, 'MacOS', 'Postern');
    mkdirSync(join(contents, 'MacOS'), { recursive: true });
    mkdirSync(join(contents, 'Resources'));
    copyFileSync(node, executable, constants.COPYFILE_FICLONE);
    chmodSync(executable, 0o755);
    writeFileSync(join(contents, 'Resources', 'Postern.icns'), icns());
    writeFileSync(join(contents, 'Info.plist'), infoPlist(version));
    writeFileSync(join(contents, 'PkgInfo'), 'APPL????');
    await sign(machine, app);
    if ((await runtimeOf(machine, executable)) === undefined) {
      throw new AppError('unavailable', 'runtime_does_not_run', 'The private copy of Node does not run on this Mac.', {
        hint: 'Nothing was changed. Run the installation again with --renew-runtime when the network is there.',
      });
    }
  });
}

/**
 * Ad hoc and without the hardened runtime: official builds of Node carry it but lack the Apple Events entitlement,
 * and macOS then refuses Automation without ever asking. What is not signed at all is killed on Apple silicon.
 */
async function sign(machine: Machine, app: string): Promise<void> {
  await machine.run('xattr', ['-cr', app]);
  const signed = await machine.run('codesign', ['--force', '--sign', '-', '--identifier', BUNDLE_ID, app]);
  if (signed.code !== 0) {
    throw new AppError('unavailable', 'codesign_failed', `The bundle could not be signed: ${signed.stderr.trim()}`, {
      hint: 'codesign is part of macOS. Look at the sentence above; nothing was changed.',
    });
  }
}

/** What `codesign` says about the signature, for the person and for doctor. */
export interface Signature {
  readonly cdhash: string | null;
  /** With the hardened runtime, Automation can never be allowed. */
  readonly isHardened: boolean;
}

export async function signatureOf(machine: Pick<Machine, 'run'>, app: string): Promise<Signature | undefined> {
  const shown = await machine.run('codesign', ['-dvvv', app]);
  if (shown.code !== 0) return undefined;
  const flags = /flags=0x[0-9a-f]+\(([^)]*)\)/.exec(shown.stderr)?.[1] ?? '';
  return {
    cdhash: /^CDHash=([0-9a-f]+)/m.exec(shown.stderr)?.[1] ?? null,
    isHardened: flags.split(',').includes('runtime'),
  };
}
