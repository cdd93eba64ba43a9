import { type Command, Option } from 'commander';
import { SCHEDULED_STATES } from '../domain/scheduled.ts';
import type { ClientContext } from './context.ts';
import { helpExamples, nonEmpty, type Runs } from './declaration.ts';

/** `postern scheduled`: messages that wait for their time. */
export function declareScheduledCommands(
  program: Command,
  context: ClientContext,
  runs: Runs,
  connected: (command: Command) => Command,
): void {
  const scheduled = program
    .command('scheduled')
    .description('List and cancel messages that wait for their time.')
    .addHelpText('after', helpExamples('postern scheduled list', 'postern scheduled cancel 5a1f'));
  connected(scheduled.command('list'))
    .description('List what waits, soonest first, beside what Messages sends later by itself.')
    .addOption(new Option('--state <state>', 'those in this state').choices(SCHEDULED_STATES))
    .addHelpText('after', helpExamples('postern scheduled list --state missed'))
    .action(
      runs(async (command) =>
        (await import('./commands/scheduled.ts')).listScheduled(command.optsWithGlobals(), context),
      ),
    );
  connected(scheduled.command('cancel'))
    .description('Cancel one: for certain, or it says that it is too late.')
    .argument('<id>', 'its id, or the beginning of it', nonEmpty)
    .addHelpText('after', helpExamples('postern scheduled cancel 5a1f'))
    .action(
      runs(async (command) =>
        (await import('./commands/scheduled.ts')).cancelScheduled(
          command.args[0] ?? '',
          command.optsWithGlobals(),
          context,
        ),
      ),
    );
}
