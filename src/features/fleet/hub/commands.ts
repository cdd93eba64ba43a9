import { type ProgramCommand, servesUntilStopped } from '../../../core/cli/declaration.ts';

/** The command that runs a hub. */
export function declareHubCommand(program: ProgramCommand): void {
  servesUntilStopped(program.command('hub'))
    .description(
      'Run a hub: one gateway for the many Macs of a fleet. Any machine can run one, and a fleet can have several.',
    )
    .option('--supervised', 'for supervisors that restart the hub')
    .examples('postern hub --config-dir ~/hub')
    .runs(async () => (await import('./hub-command.ts')).runHub);
}
