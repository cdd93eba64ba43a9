import { AppError } from '../src/domain/errors.ts';
import { type Launchd, noSession } from '../src/mac/system/launchd.ts';
import type { Layout } from './layout.ts';
import type { Machine } from './machine.ts';
import type { InstallOptions } from './options.ts';
import { portState } from './port.ts';

/** Throws an AppError that says what to do instead, unless this is a Mac and the user is not root. */
export function refuseOtherMachines({ platform, uid }: Machine): void {
  if (platform !== 'darwin') {
    throw new AppError('not_a_mac', 'Postern can only be installed on a Mac: it drives Messages.', {
      hint: 'To try it here, on a simulated Mac, run: make run',
    });
  }
  if (uid === 0) {
    throw new AppError('is_root', 'Do not install Postern with sudo: it belongs to you and your Messages.', {
      hint: 'Run the same command without sudo.',
    });
  }
}

/** Checks everything that is known to fail later, before anything is changed. */
export async function checkBeforehand(
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
    throw new AppError('port_impossible', `Nothing can listen on ${host}:${port} (${state.code}).`, {
      hint: `Change server.host or server.port in ${layout.config}.`,
    });
  }
  // After the port check, so that an agent that has just started is recognized as the listener.
  const job = await launchd.state();
  const isOurs = job.kind === 'running' && state.kind === 'taken' && (state.pid ?? job.pid) === job.pid;
  if (state.kind === 'taken' && !isOurs) {
    throw new AppError('port_taken', `Port ${port} is taken by ${state.program ?? 'another program'}.`, {
      hint: `Stop that program${state.pid === null ? '' : ` (process ${state.pid})`}, or set another server.port in ${layout.config}. Nothing was changed.`,
    });
  }
}
