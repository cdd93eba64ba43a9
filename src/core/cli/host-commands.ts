import type { Command } from 'commander';
import { helpExamples, type Runs, servesUntilStopped } from './declaration.ts';

/** The commands that run a service, and those about its configuration. */
export function declareHostCommands(program: Command, runs: Runs): void {
  servesUntilStopped(program.command('serve', { isDefault: true }))
    .description('Run the service (the default command). The first launch only writes the configuration.')
    .option('--supervised', 'for launchd and other supervisors that restart Postern')
    .addHelpText('after', helpExamples('postern serve --config-dir ~/postern'))
    .action(runs(async () => (await import('./commands/serve-command.ts')).serveCommand));
  declareConfigCommands(program, runs);
}

function declareConfigCommands(program: Command, runs: Runs): void {
  const config = program
    .command('config')
    .description('Check the configuration, print its path or the API key, or change the key.')
    .addHelpText('after', helpExamples('postern config check', 'postern config path --demo'));
  const located = (command: Command): Command => command.option('--demo', 'the configuration of postern demo');
  located(config.command('check'))
    .description('List every mistake in config.toml; exits with 78 if it cannot be used.')
    .option('--json', 'as JSON')
    .addHelpText('after', helpExamples('postern config check'))
    .action(runs(async () => (await import('./commands/config-commands.ts')).check));
  located(config.command('path'))
    .description('Print where config.toml is.')
    .addHelpText('after', helpExamples('$EDITOR "$(postern config path)"'))
    .action(runs(async () => (await import('./commands/config-commands.ts')).showPath));
  located(config.command('key'))
    .description('Print the API key of the owner, for use in a shell.')
    .addHelpText('after', helpExamples('KEY=$(postern config key --demo)'))
    .action(runs(async () => (await import('./commands/config-commands.ts')).showOwnerKey));
  located(config.command('rotate-key'))
    .description('Write a new random key to config.toml, and change nothing else.')
    .addHelpText('after', helpExamples('postern config rotate-key'))
    .action(runs(async () => (await import('./commands/config-commands.ts')).rotate));
}
