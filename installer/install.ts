import { Launchd } from '../src/mac/launchd.ts';
import { Agent, type AgentConfig } from './agent.ts';
import { checkBeforehand, refuseOtherMachines } from './beforehand.ts';
import { settleGrants } from './grants.ts';
import { LABEL, layoutOf } from './layout.ts';
import type { Machine } from './machine.ts';
import { linkMenuPlugin } from './menu-plugin.ts';
import type { NodePackage } from './node-runtime.ts';
import { stillMissing, walkThroughPermissions } from './permissions.ts';
import { prepareRelease } from './release.ts';
import { switchOver } from './switch-over.ts';
import { removeOldVersions } from './versions.ts';

/** What the configuration says, read by the version that is being installed. */
export type Settings =
  | { readonly kind: 'none' }
  | { readonly kind: 'usable'; readonly config: AgentConfig; readonly warnings: readonly string[] }
  | { readonly kind: 'unusable'; readonly mistakes: readonly string[] };

export interface InstallOptions {
  /** The built project: the folder with package.json and dist. */
  readonly root: string;
  readonly version: string;
  /** Replaces the program in the bundle; a new Node costs the permissions. */
  readonly renewRuntime: boolean;
  /** How long to wait for the person to grant the permissions; 0 asks once. */
  readonly permissionsLimitMs: number;
  readonly readSettings: (configDir: string) => Settings;
  readonly packages?: Readonly<Record<string, NodePackage>>;
}

/**
 * Installs or updates the agent. Nothing that runs is touched before the new version has proved that it loads, and
 * whatever fails after that is undone. Throws AppError with what to do; missing permissions are no failure.
 */
export async function install(machine: Machine, options: InstallOptions): Promise<void> {
  refuseOtherMachines(machine);
  const layout = layoutOf(machine.home);
  const launchd = new Launchd(machine.run, machine.clock, machine.uid, LABEL);
  await checkBeforehand(machine, layout, launchd, options);

  const release = await prepareRelease(machine, layout, options);
  const agent = new Agent(release.config);
  try {
    await switchOver(machine, layout, launchd, release, agent);
  } finally {
    release.bundle?.discard();
  }
  await settleGrants(machine, layout, {
    isNewBundle: release.bundle !== undefined,
    known: release.knownCdhash,
  });
  removeOldVersions(layout);

  await linkMenuPlugin(machine, layout);
  const { client, reason } = agent;
  const missing =
    client === undefined ? [] : await walkThroughPermissions(machine, layout, client, options.permissionsLimitMs);
  machine.say('');
  if (reason !== undefined) machine.say(`The agent was not asked for its permissions. ${reason}`);
  machine.say(missing.length === 0 ? `Postern is running at ${agent.place}` : stillMissing(missing));
  machine.say(`Configuration and key: ${layout.config}`);
  machine.say(`To check it at any time: "${layout.command}" doctor`);
}
