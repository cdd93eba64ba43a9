import { createHash } from 'node:crypto';
import { chmodSync, constants, copyFileSync, existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'plist';
import { AppError } from '../src/core/model/errors.ts';
import { BUNDLE_ID, type Layout } from './install-layout.ts';
import { type MachSlice, replaceUuids } from './mach-o.ts';
import type { Machine } from './machine.ts';
import { type StagedFolder, stageFolder } from './staging.ts';

const ICON = fileURLToPath(new URL('./Postern.icns', import.meta.url));

/** The reasons that macOS shows when it asks the user for a permission. */
const WHY_AUTOMATION =
  'Postern sends your messages by driving Messages. Without this, programs can read through Postern but not send.';
const WHY_LOCAL_NETWORK =
  'Postern delivers events to the webhooks you registered; some of them may be on other machines in your network.';

/**
 * Returns the bundle's Info.plist. Contains Node's version instead of Postern's, so that the same Node always gives the
 * same bytes: macOS ties permissions to the bundle's hash.
 */
export function infoPlist(nodeVersion: string): string {
  return build({
    CFBundleIdentifier: BUNDLE_ID,
    CFBundleName: 'Postern',
    CFBundleDisplayName: 'Postern',
    CFBundleExecutable: 'Postern',
    CFBundleIconFile: 'Postern.icns',
    CFBundlePackageType: 'APPL',
    CFBundleInfoDictionaryVersion: '6.0',
    CFBundleShortVersionString: nodeVersion,
    CFBundleVersion: nodeVersion,
    LSMinimumSystemVersion: '11.0',
    LSUIElement: true,
    NSAppleEventsUsageDescription: WHY_AUTOMATION,
    NSLocalNetworkUsageDescription: WHY_LOCAL_NETWORK,
  });
}

/**
 * Returns the UUID for Postern's copy of Node. With the UUID of the official build, macOS would confuse Postern with
 * other copies of that Node release, and refuse Postern the local network even if the user has allowed it.
 */
export function programUuid(nodeVersion: string, arch: MachSlice['arch']): Uint8Array {
  const bytes = createHash('sha256').update(`${BUNDLE_ID} ${nodeVersion} ${arch}`).digest().subarray(0, 16);
  // Marks the UUID as version 8 of RFC 9562, which is for UUIDs with a custom scheme.
  bytes.writeUInt8((bytes.readUInt8(6) & 0x0f) | 0x80, 6);
  bytes.writeUInt8((bytes.readUInt8(8) & 0x3f) | 0x80, 8);
  return bytes;
}

/**
 * Reports whether the bundle's signature is intact and its program runs. If the signature fails the strict check,
 * removes extended attributes, which Finder may have added, and checks again.
 */
export async function isBundleSound(machine: Machine, layout: Layout): Promise<boolean> {
  if (!existsSync(layout.executable)) return false;
  const verified = await machine.run('codesign', ['--verify', '--strict', layout.app]);
  if (verified.code !== 0) {
    await machine.run('xattr', ['-cr', layout.app]);
    const again = await machine.run('codesign', ['--verify', layout.app]);
    if (again.code !== 0) return false;
  }
  return (await runtimeOf(machine, layout.executable)) !== undefined;
}

/**
 * Returns the version of the Node at `executable` and of its native module interface (ABI). Returns undefined if that
 * Node does not run.
 */
export async function runtimeOf(
  machine: Machine,
  executable: string,
): Promise<{ readonly version: string; readonly abi: string } | undefined> {
  const result = await machine.run(executable, ['-p', 'process.versions.node + " " + process.versions.modules']);
  const [version, abi] = result.stdout.trim().split(' ');
  return result.code === 0 && version !== undefined && abi !== undefined ? { version, abi } : undefined;
}

/**
 * Builds the bundle around a copy of `node`, in a staging folder beside its destination. The same `node` always gives
 * the same bytes.
 */
export async function stageBundle(machine: Machine, layout: Layout, node: string): Promise<StagedFolder> {
  const runtime = await runtimeOf(machine, node);
  if (runtime === undefined) throw doesNotRun(node);
  return stageFolder(layout.app, async (app) => {
    const contents = join(app, 'Contents');
    const executable = join(contents, 'MacOS', 'Postern');
    mkdirSync(join(contents, 'MacOS'), { recursive: true });
    mkdirSync(join(contents, 'Resources'));
    copyFileSync(node, executable, constants.COPYFILE_FICLONE);
    chmodSync(executable, 0o755);
    replaceUuids(executable, ({ arch }) => programUuid(runtime.version, arch));
    copyFileSync(ICON, join(contents, 'Resources', 'Postern.icns'));
    writeFileSync(join(contents, 'Info.plist'), infoPlist(runtime.version));
    writeFileSync(join(contents, 'PkgInfo'), 'APPL????');
    await sign(machine, app);
    if ((await runtimeOf(machine, executable)) === undefined) throw doesNotRun(executable);
  });
}

function doesNotRun(program: string): AppError {
  return new AppError('runtime_does_not_run', `Node does not run on this Mac: ${program}`, {
    hint: 'Nothing was changed. Run the installation again with --renew-runtime when the network is available.',
  });
}

/**
 * Signs ad hoc, because Apple silicon kills unsigned programs. Omits the hardened runtime: with it, macOS refuses
 * Automation without asking, unless the program has the Apple Events entitlement. Official builds of Node lack that
 * entitlement.
 */
async function sign(machine: Machine, app: string): Promise<void> {
  await machine.run('xattr', ['-cr', app]);
  const signed = await machine.run('codesign', ['--force', '--sign', '-', '--identifier', BUNDLE_ID, app]);
  if (signed.code !== 0) {
    throw new AppError('codesign_failed', `The bundle could not be signed: ${signed.stderr.trim()}`, {
      hint: 'Nothing was changed. The sentence above is from codesign, which is part of macOS.',
    });
  }
}

/** A bundle's code signature, as `codesign -dvvv` reports it. */
export interface Signature {
  readonly cdhash: string | null;
  /** True if the signature has the hardened runtime, under which macOS refuses Automation without asking. */
  readonly isHardened: boolean;
}

export async function signatureOf(machine: Pick<Machine, 'run'>, app: string): Promise<Signature | undefined> {
  const shown = await machine.run('codesign', ['-dvvv', app]);
  if (shown.code !== 0) return undefined;
  const flags = /flags=0x[0-9a-f]+\(([^()]*)\)/.exec(shown.stderr)?.[1] ?? '';
  return {
    cdhash: /^CDHash=([0-9a-f]+)/m.exec(shown.stderr)?.[1] ?? null,
    isHardened: flags.split(',').includes('runtime'),
  };
}
