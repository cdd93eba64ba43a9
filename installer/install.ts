import { mkdirSync } from 'node:fs';
import { isPosternError, type PosternClient } from '../src/client/postern-client.ts';
import { AppError } from '../src/core/model/errors.ts';
import { appMessages } from './app-messages.ts';
import { settleGrants } from './grants.ts';
import { LABEL, type Layout, layoutOf } from './install-layout.ts';
import { Agent, type AgentConfig } from './launch-agent.ts';
import { Launchd, noSession } from './launchd.ts';
import type { Machine } from './machine.ts';
import { linkMenuPlugin } from './menu-plugin.ts';
import { oneAtATime } from './one-at-a-time.ts';
import type { InstallOptions } from './options.ts';
import { stillMissing, walkThroughPermissions } from './permission-walk.ts';
import { portState } from './port.ts';
import { prepareRelease } from './release.ts';
import { linkShellFiles } from './shell-files.ts';
import { switchOver } from './switch-over.ts';
import { removeOldVersions } from './versions.ts';

/**
 * Installs or updates the agent. Leaves the running version alone until the new one has proved that it loads, and
 * restores the previous version if a later step fails. Throws an AppError that says what to do. Missing permissions are
 * not a failure.
 */
export async function install(machine: Machine, options: InstallOptions): Promise<void> {
  refuseOtherMachines(machine);
  const layout = layoutOf(machine.home);
  const launchd = new Launchd(machine.run, machine.clock, machine.uid, LABEL);
  await checkBeforehand(machine, layout, launchd, options);
  mkdirSync(layout.support, { recursive: true, mode: 0o700 });
  await oneAtATime(layout, () => installOne(machine, layout, launchd, options));
}

async function installOne(machine: Machine, layout: Layout, launchd: Launchd, options: InstallOptions): Promise<void> {
  const release = await prepareRelease(machine, layout, options);
  const agent = new Agent(release.config);
  try {
    await switchOver(machine, layout, launchd, release, agent);
  } finally {
    // Must run even if the switch-over failed, because a failed first installation leaves the new app in place.
    const isNewBundle = release.bundle?.isPlaced() === true;
    await settleGrants(machine, layout, { isNewBundle, known: release.knownCdhash, canRead: () => agent.canRead() });
    release.bundle?.discard();
  }
  removeOldVersions(layout);

  await linkMenuPlugin(machine, layout);
  linkShellFiles(machine, layout);
  const { client, reason } = agent;
  const missing = client === undefined ? [] : await walkThroughPermissions(machine, layout, client, options);
  machine.stdout('');
  if (reason !== undefined) machine.stdout(`The agent could not be asked which permissions it has. ${reason}`);
  machine.stdout(missing.length === 0 ? `Postern is running at ${agent.place}` : stillMissing(missing));
  machine.stdout(`Configuration and key: ${layout.config}`);
  if (client !== undefined) await mentionApps(machine, client, release.config, layout.config);
  machine.stdout(`To check it at any time: "${layout.command}" doctor`);
}

/**
 * Tells the user how to show messages from apps, if chat.db contains any. Prints nothing if the agent cannot answer the
 * question, for example because it is an older version.
 */
async function mentionApps(machine: Machine, client: PosternClient, config: AgentConfig, file: string): Promise<void> {
  const seen = await client.diagnostics({ seconds: 0 }).catch((error: unknown) => {
    if (isPosternError(error)) return undefined;
    throw error;
  });
  const apps = seen && appMessages(seen, config.backend.associatedRows, file);
  if (apps !== undefined) machine.stdout(apps.join(' '));
}

/** Throws an AppError with advice unless this is a Mac and the user is not root. */
function refuseOtherMachines({ platform, uid }: Machine): void {
  if (platform !== 'darwin') {
    throw new AppError('not_a_mac', 'Postern can be installed only on a Mac, because it controls Messages.', {
      hint: 'To try it here, on a simulated Mac, run: make run',
    });
  }
  if (uid === 0) {
    throw new AppError('is_root', 'Do not install Postern with sudo. It must run as you to reach your messages.', {
      hint: 'Run the same command without sudo.',
    });
  }
}

/**
 * Checks the login session, the configuration and the port before anything is changed. Throws an AppError if one of
 * them would make a later step fail.
 */
async function checkBeforehand(
  machine: Machine,
  layout: Layout,
  launchd: Launchd,
  options: InstallOptions,
): Promise<void> {
  if (!(await launchd.hasSession())) throw noSession();

  const settings = options.readSettings(layout.support);
  if (settings.kind === 'unusable') {
    throw new AppError('configuration_unusable', [`${layout.config}:`, ...settings.mistakes].join('\n  '), {
      hint: 'Nothing was changed. Fix these and run the installation again.',
    });
  }
  if (settings.kind === 'usable') for (const warning of settings.warnings) machine.stdout(`Configuration: ${warning}`);

  const { host, port } = settings.kind === 'usable' ? settings.config.server : settings.server;
  const state = await portState(machine.run, host, port);
  if (state.kind === 'impossible') {
    throw new AppError('port_impossible', `Postern cannot listen on ${host}:${port} (${state.code}).`, {
      hint: `Change server.host or server.port in ${layout.config}.`,
    });
  }
  // Reads launchd's state after the state of the port. In the opposite order, an agent that starts between the two
  // reads would look like another program on Postern's port.
  const job = await launchd.state();
  const isOurs = job.kind === 'running' && state.kind === 'taken' && (state.pid ?? job.pid) === job.pid;
  if (state.kind === 'taken' && !isOurs) {
    throw new AppError('port_taken', `Port ${port} is taken by ${state.program ?? 'another program'}.`, {
      hint: `Stop that program${state.pid === null ? '' : ` (process ${state.pid})`}, or set another server.port in ${layout.config}. Nothing was changed.`,
    });
  }
}
