import type { Command } from 'commander';
import { helpExamples, type Runs, servesUntilStopped } from '../../../core/cli/declaration.ts';

/** The command that runs a hub. */
export function declareHubCommand(program: Command, runs: Runs): void {
  servesUntilStopped(program.command('hub'))
    .description(
      'Run a hub: one gateway for the many Macs of a fleet. Any machine can run one, and a fleet can have several.',
    )
    .option('--supervised', 'for supervisors that restart the hub')
    .addHelpText('after', helpExamples('postern hub --config-dir ~/hub'))
    .action(runs(async () => (await import('./hub-command.ts')).runHub));
}
