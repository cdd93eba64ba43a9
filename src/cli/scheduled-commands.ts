import { type Command, Option } from 'commander';
import { SCHEDULED_STATES } from '../domain/scheduled.ts';
import { connected, helpExamples, nonEmpty, type Runs, served } from './declaration.ts';

/** `postern scheduled`: messages that wait for their time. */
export function declareScheduledCommands(program: Command, runs: Runs): void {
  const scheduled = program
    .command('scheduled')
    .description('List and cancel messages that wait for their time.')
    .addHelpText('after', helpExamples('postern scheduled list', 'postern scheduled cancel 5a1f'));
  connected(scheduled.command('list'))
    .description('List what waits, soonest first, beside what Messages sends later by itself.')
    .addOption(new Option('--state <state>', 'those in this state').choices(SCHEDULED_STATES))
    .addHelpText('after', helpExamples('postern scheduled list --state missed'))
    .action(runs(served(async () => (await import('./commands/scheduled.ts')).listScheduled)));
  connected(scheduled.command('cancel'))
    .description('Cancel one: for certain, or it says that it is too late.')
    .argument('<id>', 'its id, or the beginning of it', nonEmpty)
    .addHelpText('after', helpExamples('postern scheduled cancel 5a1f'))
    .action(runs(served(async () => (await import('./commands/scheduled.ts')).cancelScheduled)));
}
