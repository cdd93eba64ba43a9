import { existsSync, readFileSync, rmSync } from 'node:fs';
import { signatureOf } from './app-bundle.ts';
import { BUNDLE_ID, type Layout } from './install-layout.ts';
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
 */
export async function settleGrants(
  machine: Machine,
  layout: Layout,
  { isNewBundle, known }: { readonly isNewBundle: boolean; readonly known: string | null },
): Promise<void> {
  if (!isNewBundle && existsSync(layout.knownCdhash)) return;
  const cdhash = (await signatureOf(machine, layout.app))?.cdhash ?? null;
  if (isNewBundle && cdhash !== null && cdhash === known) {
    machine.stdout('Postern.app is identical to the one that macOS knows, so it keeps its permissions.');
  } else if (isNewBundle) {
    if (known !== null) {
      machine.stdout('Postern.app has changed, so macOS requires you to grant its permissions again.');
    }
    for (const line of await resetPermissions(machine, layout)) machine.stdout(line);
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
 * one line that tells the user how to remove it by hand.
 */
export async function resetPermissions(machine: Machine, layout: Layout): Promise<readonly string[]> {
  await registerBundle(machine, layout);
  const failures: string[] = [];
  for (const service of ['SystemPolicyAllFiles', 'AppleEvents'] as const) {
    const failure = await reset(machine, service);
    if (failure !== null) failures.push(failure);
  }
  return failures;
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
