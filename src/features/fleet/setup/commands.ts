import { InvalidArgumentError } from 'commander';
import type { ClientContext } from '../../../core/cli/client-context.ts';
import { EXIT } from '../../../core/cli/context.ts';
import { count, gathered, nonEmpty, type ProgramCommand } from '../../../core/cli/declaration.ts';
import { errorCode, isAppError } from '../../../core/model/errors.ts';
import { isMember } from '../protocol/names.ts';

/** The commands that set up a fleet, and that make this machine a member of one. */
export function declareFleetCommands(program: ProgramCommand): void {
  const desk = () => import('./desk-commands.ts');
  const fleet = program
    .command('fleet')
    .description('Set up a fleet: many Macs behind hubs, connected through nats-server.')
    .examples('postern fleet init', 'postern fleet add m7', 'postern fleet status');
  located(fleet.command('init'))
    .description('Create the keys of a new fleet, and a configuration for its nats-server.')
    .option('--server <address>', 'host or host:port of a server; repeat it for a cluster (127.0.0.1:4222)', gathered)
    .option(
      '--server-version <version>',
      'version of nats-server that will read the configuration (on this machine, its own; else 2.12)',
      version,
    )
    .option('--keep-hours <hours>', 'how long the stream keeps events (168)', count)
    .option('--connect', 'create what is missing on the servers, for a fleet that exists; safe to run again')
    .examples(
      'postern fleet init',
      'postern fleet init --server n1.example.net --server n2.example.net --server n3.example.net',
      'postern fleet init --connect --keep-hours 72',
    )
    .runs(reported(async () => (await desk()).initFleet));
  located(fleet.command('add'))
    .description(
      'Print the secret line with which a machine joins as this Mac. A second machine joins with the same line.',
    )
    .argument('<mac>', 'the name of the Mac: lowercase letters, digits and hyphens, at most 32', member)
    .examples('postern fleet add m7', 'postern fleet add m7 | ssh m7 postern fleet join')
    .runs(reported(async () => (await desk()).addMac));
  fleet
    .command('join')
    .description('Make this machine a Mac or a hub of a fleet. Asks for the line, or reads it from a pipe or a file.')
    .option('--file <file>', 'read the line from a file', nonEmpty)
    .option('--hub', 'this is a hub, and the line that of the hubs')
    .examples('postern fleet join', 'postern fleet join --hub --file hub.line')
    .runs(reported(async () => (await import('./join-command.ts')).joinFleet));
  located(fleet.command('revoke'))
    .description('Remove a Mac from the fleet. The servers refuse its line after their next reload.')
    .argument('<mac>', 'the name of the Mac', member)
    .examples('postern fleet revoke m7')
    .runs(reported(async () => (await desk()).revokeMac));
  located(fleet.command('renew'))
    .description('Make new certificates for the servers, valid 825 days. Macs and hubs need no change.')
    .option('--content-key', 'instead, take the next of three steps to a new content key')
    .option('--now', 'with --content-key: drop the old key even if the stream still holds events sealed with it')
    .examples('postern fleet renew', 'postern fleet renew --content-key')
    .runs(reported(async () => (await desk()).renewFleet));
  located(fleet.command('status'))
    .description('Show servers, streams and Macs; exits with 1 if there is a problem.')
    .option('--json', 'as JSON')
    .examples('postern fleet status')
    .runs(reported(async () => (await import('./status-command.ts')).showFleet));
}

type Given<Args extends unknown[]> = [...Args, options: never, context: ClientContext];

/** Makes a command print its failure as a sentence. */
function reported<Args extends unknown[]>(load: () => Promise<(...given: Given<Args>) => Promise<number>>) {
  return async () => {
    const command = await load();
    return async (...given: Given<Args>): Promise<number> => {
      try {
        return await command(...given);
      } catch (error) {
        const context = given.at(-1) as ClientContext;
        if (isAppError(error)) {
          context.stderr(error.message, ...(error.hint === undefined ? [] : [`  ${error.hint}`]));
          return EXIT_CODES[error.code] ?? EXIT.refusedInput;
        }
        // Also reports errors of the system, such as a full disk. Any other error is a bug, and is thrown.
        if (!/^E[A-Z]+$/.test(errorCode(error) ?? '')) throw error;
        context.stderr(`${(error as Error).message}.`);
        return EXIT.failed;
      }
    };
  };
}

const EXIT_CODES: Readonly<Record<string, number>> = {
  broker_away: EXIT.unavailable,
  certificates_not_made: EXIT.failed,
  configuration_unusable: EXIT.config,
};

function located(command: ProgramCommand): ProgramCommand {
  return command.option('--dir <folder>', 'folder of the fleet (default: "fleet" next to config.toml)', nonEmpty);
}

function member(value: string): string {
  if (isMember(value)) return value;
  throw new InvalidArgumentError('It must be 1 to 32 lowercase letters, digits and hyphens, and not "all".');
}

function version(value: string): string {
  if (/^\d{1,3}\.\d{1,3}(?:\.\d{1,4})?$/.test(value)) return value;
  throw new InvalidArgumentError('It must be a version such as 2.12.');
}
