import { type ProgramCommand, servesUntilStopped } from './declaration.ts';

/** The commands that run a service, and those about its configuration. */
export function declareHostCommands(program: ProgramCommand): void {
  servesUntilStopped(program.command('serve', { isDefault: true }))
    .description('Run the service (the default command). The first launch only writes the configuration.')
    .option('--supervised', 'for launchd and other supervisors that restart Postern')
    .examples('postern serve --config-dir ~/postern')
    .runs(async () => (await import('./commands/serve-command.ts')).serveCommand);
  declareConfigCommands(program);
}

function declareConfigCommands(program: ProgramCommand): void {
  const config = program
    .command('config')
    .description('Check the configuration, print its path or the API key, or change the key.')
    .examples('postern config check', 'postern config path --demo');
  const located = (command: ProgramCommand): ProgramCommand =>
    command.option('--demo', 'the configuration of postern demo');
  located(config.command('check'))
    .description('List every mistake in config.toml; exits with 78 if it cannot be used.')
    .option('--json', 'as JSON')
    .examples('postern config check')
    .runs(async () => (await import('./commands/config-commands.ts')).check);
  located(config.command('path'))
    .description('Print where config.toml is.')
    .examples('$EDITOR "$(postern config path)"')
    .runs(async () => (await import('./commands/config-commands.ts')).showPath);
  located(config.command('key'))
    .description('Print the API key of the owner, for use in a shell.')
    .examples('KEY=$(postern config key --demo)')
    .runs(async () => (await import('./commands/config-commands.ts')).showOwnerKey);
  located(config.command('rotate-key'))
    .description('Write a new random key to config.toml, and change nothing else.')
    .examples('postern config rotate-key')
    .runs(async () => (await import('./commands/config-commands.ts')).rotate);
}
