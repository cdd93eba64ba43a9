import { existsSync } from 'node:fs';
import { AppError } from '../src/core/model/errors.ts';
import { LABEL, layoutOf } from './install-layout.ts';
import { installLine } from './install-line.ts';
import { Agent } from './launch-agent.ts';
import { Launchd, noSession } from './launchd.ts';
import type { Machine } from './machine.ts';
import type { InstallOptions } from './options.ts';

export type AgentOrder = 'start' | 'stop' | 'restart';

/**
 * Starts, stops or restarts the installed agent. Waits until the started agent answers, or the stopped one is gone.
 * Throws an AppError that says what to do.
 */
export async function controlAgent(
  machine: Machine,
  order: AgentOrder,
  readSettings: InstallOptions['readSettings'],
): Promise<void> {
  if (machine.platform !== 'darwin') {
    throw new AppError('not_a_mac', `There is no agent to ${order}: Postern installs one only on a Mac.`, {
      hint: 'To run the service here: postern serve (Ctrl+C or SIGTERM ends it)',
    });
  }
  const layout = layoutOf(machine.home);
  if (!existsSync(layout.plist)) {
    throw new AppError('not_installed', `There is no agent to ${order}: Postern is not installed.`, {
      hint: `Run: ${installLine()}`,
    });
  }
  const launchd = new Launchd(machine.run, machine.clock, machine.uid, LABEL);
  const job = await launchd.state();
  if (job.kind === 'no_session') throw noSession();
  if (order === 'start' && job.kind === 'running') {
    machine.stdout(`Postern is already running, as process ${job.pid}.`);
    return;
  }
  if (order === 'stop' && job.kind === 'absent') {
    machine.stdout('Postern is not running.');
    return;
  }
  // Unloads the job. Ending only its process would not do, because launchd restarts an agent that ends with an error.
  if (job.kind !== 'absent') await launchd.bootout();
  if (order === 'stop') {
    machine.stdout('Postern has stopped. It starts again at the next login, or with: postern start');
    return;
  }
  await launchd.enable();
  await launchd.bootstrap(layout.plist);
  machine.stdout('Starting …');
  const settings = readSettings(layout.support);
  if (settings.kind !== 'usable') {
    throw new AppError('configuration_unusable', `${layout.config} cannot be used, so Postern does not start.`, {
      hint: 'Run: postern config check',
    });
  }
  const agent = new Agent(settings.config);
  const trouble = await agent.healthTrouble(machine, launchd);
  if (trouble !== null) {
    throw new AppError('agent_not_healthy', trouble, { hint: 'Run: postern doctor (and, for the log: postern logs)' });
  }
  machine.stdout(`Postern is running at ${agent.place}`);
}
