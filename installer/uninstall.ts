import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { AppError } from '../src/domain/errors.ts';
import { Launchd } from '../src/mac/launchd.ts';
import { BUNDLE_ID, LABEL, layoutOf } from './layout.ts';
import type { Machine } from './machine.ts';
import { unlinkMenuPlugin } from './menu-plugin.ts';

export interface UninstallOptions {
  /** Also removes configuration, state, logs and the granted permissions. */
  readonly purge: boolean;
}

/** Takes the agent off this Mac. What is not there is no failure; running it twice is fine. */
export async function uninstall(machine: Machine, { purge }: UninstallOptions): Promise<void> {
  if (machine.platform !== 'darwin') {
    throw new AppError('refused', 'not_a_mac', 'There is nothing to remove: Postern is installed on Macs only.');
  }
  const layout = layoutOf(machine.home);
  const launchd = new Launchd(machine.run, machine.clock, machine.uid, LABEL);

  const job = await launchd.state();
  if (job.kind === 'running' || job.kind === 'loaded') {
    machine.say('launchctl bootout: the agent is stopped and taken from launchd, so that it is not started again.');
    await launchd.bootout();
  } else if (job.kind === 'no_session') {
    machine.say('Nobody is logged in at the screen, so no agent runs; its files are removed.');
  }
  if ((await unlinkMenuPlugin(machine, layout)) > 0) machine.say('Removed the menu bar item.');

  if (purge) {
    // Before the bundle goes: tccutil finds it by its identifier.
    for (const service of ['SystemPolicyAllFiles', 'AppleEvents'])
      await machine.run('tccutil', ['reset', service, BUNDLE_ID]);
  }
  const code = [layout.plist, layout.app, layout.current, layout.previous, layout.versions, layout.command];
  for (const path of [...code, ...(purge ? [layout.support, layout.logs] : [])]) {
    if (!isRemoved(path)) machine.say(`Could not be removed, please do so yourself: ${path}`);
  }
  const staged = join(machine.home, 'Library', 'Messages', 'Attachments', 'Postern');
  if (purge && !isRemoved(staged)) {
    machine.say(`Only the agent had access to ${staged}: if it is there, remove it in the Finder.`);
  }

  if (!purge && existsSync(layout.support)) {
    machine.say(`Kept: ${layout.support} (configuration, key, webhooks) and ${layout.logs}. With --purge they go too.`);
  }
  machine.say('Postern is off this Mac.');
}

function isRemoved(path: string): boolean {
  try {
    rmSync(path, { recursive: true, force: true });
    return true;
  } catch {
    return false;
  }
}
