import { type Command, InvalidArgumentError, Option } from 'commander';
import { type FleetContent, MAC_ID } from '../model/fleet.ts';
import { count, gathered, helpExamples, nonEmpty, type Runs } from './declaration.ts';

const CONTENTS: readonly FleetContent[] = ['encrypted', 'metadata', 'plain'];

/** The commands for running a fleet of Macs. */
export function declareFleetCommands(program: Command, runs: Runs): void {
  const code = () => import('./commands/fleet-commands.ts');
  const fleet = program
    .command('fleet')
    .description('Set up a fleet: many Macs behind hubs, connected through nats-server.')
    .addHelpText('after', helpExamples('postern fleet init', 'postern fleet invite m7', 'postern fleet status'));
  located(fleet.command('init'))
    .description(
      'Create the keys of a new fleet and a configuration for its nats-server; with --connect, also its streams.',
    )
    .option('--server <address>', 'host or host:port of a server; repeat it for a cluster (127.0.0.1:4222)', gathered)
    .option('--server-version <version>', 'version of nats-server that will read the configuration (2.12)', version)
    .addOption(
      new Option(
        '--content <mode>',
        'how message bodies pass through the servers (encrypted; plain on loopback)',
      ).choices(CONTENTS),
    )
    .option('--no-certificates', 'make no certificates, because you bring your own')
    .option('--connect', 'create what is missing on the servers; safe to run again')
    .option('--keep-hours <hours>', 'with --connect: how long events are kept (168)', count)
    .option('--max-bytes <bytes>', 'with --connect: maximum disk space for events, such as 50G', byteCount)
    .addHelpText(
      'after',
      helpExamples(
        'postern fleet init',
        'postern fleet init --server n1.example.net --server n2.example.net --server n3.example.net',
        'postern fleet init --connect',
      ),
    )
    .action(runs(async () => (await code()).initFleet));
  const onMac = (name: string, description: string): Command =>
    located(fleet.command(name))
      .description(description)
      .argument('<mac>', 'the id of the Mac: lowercase letters, digits and hyphens, at most 32', macId)
      .option('--offline', 'only write files; postern fleet init --connect does the rest later')
      .addHelpText('after', helpExamples(`postern fleet ${name} m7`));
  located(fleet.command('invite'))
    .description(
      'Print a token for one machine to join as a Mac, and wait for it. The token works once, within 15 minutes.',
    )
    .argument('<mac>', 'the id of the Mac: lowercase letters, digits and hyphens, at most 32', macId)
    .option('--replace', 'let the new machine replace the one that has this id now')
    .addHelpText('after', helpExamples('postern fleet invite m7', 'postern fleet invite m7 --replace'))
    .action(runs(async () => (await import('./commands/fleet-invite-command.ts')).inviteMac));
  fleet
    .command('join')
    .description('Make this machine a Mac of a fleet. Asks for the token of the invitation, or reads it from stdin.')
    .option('--token-file <file>', 'read the token from a file', nonEmpty)
    .addHelpText('after', helpExamples('postern fleet join', 'postern fleet join --token-file token.txt'))
    .action(runs(async () => (await import('./commands/fleet-join-command.ts')).joinAsMac));
  onMac('add', 'Make a key to copy to a new Mac, and print the section [fleet] for its config.toml.').action(
    runs(async () => (await code()).addMac),
  );
  onMac(
    'adopt',
    'Make a new key for a Mac that was replaced. The servers refuse the old key after their next reload.',
  ).action(runs(async () => (await code()).adoptMac));
  onMac('revoke', 'Remove a Mac from the fleet. The servers refuse its key after their next reload.').action(
    runs(async () => (await code()).revokeMac),
  );
  located(fleet.command('pair'))
    .description('Pair two Macs of one Apple account: the second takes over when the first one dies.')
    .argument('<mac>', 'the Mac whose id both share from now on', macId)
    .argument('<standby>', 'the other Mac', macId)
    .option('--offline', 'only write files; postern fleet init --connect does the rest later')
    .addHelpText('after', helpExamples('postern fleet pair m7 m8'))
    .action(runs(async () => (await import('./commands/fleet-pair-command.ts')).pairMacs));
  located(fleet.command('rotate'))
    .description('Change the content key, in three runs. After each run, copy the files that it names.')
    .addHelpText('after', helpExamples('postern fleet rotate'))
    .action(runs(async () => (await import('./commands/fleet-keys-commands.ts')).rotateContentKey));
  located(fleet.command('renew'))
    .description('Make new certificates for the servers, valid 825 days. Macs and hubs need no change.')
    .addHelpText('after', helpExamples('postern fleet renew'))
    .action(runs(async () => (await import('./commands/fleet-keys-commands.ts')).renewCertificates));
  located(fleet.command('status'))
    .description('Show servers, streams and Macs; exits with 1 if there is a problem.')
    .option('--json', 'as JSON')
    .addHelpText('after', helpExamples('postern fleet status'))
    .action(runs(async () => (await code()).showFleet));
}

function located(command: Command): Command {
  return command.option('--dir <folder>', 'folder of the fleet (default: "fleet" next to config.toml)', nonEmpty);
}

function macId(value: string): string {
  if (!MAC_ID.test(value)) throw new InvalidArgumentError('It must be 1 to 32 lowercase letters, digits and hyphens.');
  return value;
}

/** Parses a number of bytes. The minimum is 1 MB, because less disk space could not hold a few messages of each Mac. */
function byteCount(value: string): number {
  const [, number, unit = ''] = /^(\d{1,9})([KMGT]?)$/.exec(value) ?? [];
  const bytes = Number(number) * 1000 ** ('KMGT'.indexOf(unit) + (unit === '' ? 0 : 1));
  if (Number.isSafeInteger(bytes) && bytes >= 1_000_000) return bytes;
  throw new InvalidArgumentError('It must be at least 1M: a number of bytes, or a number followed by K, M, G or T.');
}

function version(value: string): string {
  if (!/^\d{1,3}\.\d{1,3}(?:\.\d{1,4})?$/.test(value)) {
    throw new InvalidArgumentError('It must be a version such as 2.12.');
  }
  return value;
}
