import { existsSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { errorCode } from '../src/core/model/errors.ts';
import { signatureOf } from './app-bundle.ts';
import { BUNDLE_ID, type Layout, layoutOf } from './install-layout.ts';
import type { Machine } from './machine.ts';
import { writeWhole } from './staging.ts';

export const LSREGISTER =
  '/System/Library/Frameworks/CoreServices.framework/Frameworks/LaunchServices.framework/Support/lsregister';

const SERVICES = {
  SystemPolicyAllFiles: 'Full Disk Access',
  AppleEvents: 'Automation',
} as const;

/** Registers the bundle with LaunchServices, where tccutil and Login Items look it up by its identifier. */
export async function registerBundle(machine: Machine, layout: Layout): Promise<void> {
  if (existsSync(layout.app)) await machine.run(LSREGISTER, ['-f', layout.app]);
}

/**
 * Unregisters the bundle from LaunchServices. Call this before removing its files, or macOS keeps an entry for a
 * missing app.
 */
export async function unregisterBundle(machine: Machine, layout: Layout): Promise<void> {
  if (existsSync(layout.app)) await machine.run(LSREGISTER, ['-u', layout.app]);
}

/**
 * Returns the cdhash of the bundle to which macOS granted the permissions; null if unknown. That bundle may no longer
 * exist.
 */
export async function knownCdhash(machine: Machine, layout: Layout): Promise<string | null> {
  if (existsSync(layout.knownCdhash)) return readFileSync(layout.knownCdhash, 'utf8').trim();
  return existsSync(layout.app) ? ((await signatureOf(machine, layout.app))?.cdhash ?? null) : null;
}

/**
 * Resets the permissions if a new bundle was installed and its cdhash is not `known`, because macOS ties permissions to
 * the cdhash. Without the reset, System Settings would show Postern as switched on although macOS refuses it.
 * `canRead` says whether the started agent can read chat.db; undefined if it does not answer. Full Disk Access stays if
 * it can, and also on a first installation whose agent does not answer.
 */
export async function settleGrants(
  machine: Machine,
  layout: Layout,
  {
    isNewBundle,
    known,
    canRead,
  }: {
    readonly isNewBundle: boolean;
    readonly known: string | null;
    readonly canRead: () => Promise<boolean | undefined>;
  },
): Promise<void> {
  if (!isNewBundle && existsSync(layout.knownCdhash)) return;
  const cdhash = (await signatureOf(machine, layout.app))?.cdhash ?? null;
  if (isNewBundle && cdhash !== null && cdhash === known) {
    machine.stdout('Postern.app is identical to the one that macOS knows, so it keeps its permissions.');
  } else if (isNewBundle) {
    if (known !== null) {
      machine.stdout('Postern.app has changed, so macOS requires you to grant its permissions again.');
    }
    const isStale = !((await canRead()) ?? known === null);
    const lines = isStale ? await resetPermissions(machine, layout) : [await resetAutomation(machine, layout)];
    for (const line of lines) if (line !== null) machine.stdout(line);
  }
  remember(layout, cdhash);
}

function remember(layout: Layout, cdhash: string | null): void {
  try {
    rmSync(layout.knownCdhash, { force: true });
    if (cdhash !== null) writeWhole(layout.knownCdhash, `${cdhash}\n`, 0o600);
  } catch {
    // If the file with the cdhash is missing, the next new bundle resets the permissions, which does no harm.
  }
}

/**
 * Removes Postern's entries under Full Disk Access and Automation. For each entry that could not be removed, returns
 * one line that tells the user how to remove it by hand. Full Disk Access is one entry for all accounts of a Mac, so it
 * stays, and is said to stay, if another account has Postern.
 */
export async function resetPermissions(machine: Machine, layout: Layout): Promise<readonly string[]> {
  await registerBundle(machine, layout);
  const sharing = sharedWith(machine);
  if (sharing !== undefined) machine.stdout(sharing);
  const services =
    sharing === undefined ? (['SystemPolicyAllFiles', 'AppleEvents'] as const) : (['AppleEvents'] as const);
  const failures: string[] = [];
  for (const service of services) {
    const failure = await reset(machine, service);
    if (failure !== null) failures.push(failure);
  }
  return failures;
}

/**
 * Returns why Full Disk Access must not be reset; undefined if no other account of this Mac has Postern. A home folder
 * that cannot be looked into counts as having it.
 */
export function sharedWith({ usersFolder, home }: Machine): string | undefined {
  const keeps = 'Full Disk Access was not reset: it holds for all accounts of this Mac, and';
  for (const name of namesIn(usersFolder)) {
    const other = join(usersFolder, name);
    if (other === home) continue;
    const { app } = layoutOf(other);
    try {
      if (statSync(app, { throwIfNoEntry: false }) !== undefined) return `${keeps} ${app} uses it too.`;
    } catch (error) {
      if (errorCode(error) === 'ENOTDIR') continue;
      return `${keeps} ${app} may exist, which this account cannot see. If no other account has Postern: ${manually('SystemPolicyAllFiles')}`;
    }
  }
  return undefined;
}

function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

/**
 * Makes macOS forget whether the user allowed Postern to control Messages. Returns null, or, if this fails, what the
 * user has to do by hand.
 */
export async function resetAutomation(machine: Machine, layout: Layout): Promise<string | null> {
  await registerBundle(machine, layout);
  return reset(machine, 'AppleEvents');
}

async function reset(machine: Machine, service: keyof typeof SERVICES): Promise<string | null> {
  const result = await machine.run('tccutil', ['reset', service, BUNDLE_ID]);
  if (result.code === 0) return null;
  const isUnknown = `${result.stdout}${result.stderr}`.includes('-10814');
  const reason = isUnknown
    ? 'macOS does not know the app yet (-10814)'
    : `tccutil ended with ${result.code ?? 'a signal'}`;
  return `The old entry under ${SERVICES[service]} could not be removed: ${reason}. ${manually(service)}`;
}

function manually(service: keyof typeof SERVICES): string {
  return service === 'SystemPolicyAllFiles'
    ? 'In System Settings > Privacy & Security > Full Disk Access, select Postern if it is listed and click −.'
    : 'If macOS never asks about Messages, run: tccutil reset AppleEvents (this also forgets the answers for all other apps).';
}
