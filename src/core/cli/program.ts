import type { ClientContext } from './client-context.ts';
import {
  CLIENT_COMMANDS,
  nonEmpty,
  ProgramCommand,
  SERVICE_COMMANDS,
  type StartCommand,
  servesUntilStopped,
} from './declaration.ts';
import { EXIT_CODE_HELP } from './exit-codes.ts';

const EXAMPLES = `
Examples:
  postern demo                      try it on a simulated Mac
  postern tail --demo               print its events
  postern send +15550100 Hello      send through the service on this machine`;

/** Declares all commands. A command's code is loaded only when it runs. */
export function declareProgram(context: ClientContext, run: StartCommand): ProgramCommand {
  const program = new ProgramCommand('postern', run)
    .description('A local gateway to Apple Messages: REST, WebSocket and signed webhooks.')
    .version(context.version)
    .option('--config-dir <folder>', 'where config.toml and state.db are', nonEmpty)
    .configureHelp({ showGlobalOptions: true, styleTitle: (title) => context.paint('bold', title) })
    .configureOutput({
      writeOut: (text) => context.stdout(text.replace(/\n$/, '')),
      writeErr: (text) => context.stderr(text.replace(/\n$/, '')),
      outputError: () => {},
    })
    .addHelpText('after', `${EXIT_CODE_HELP}\n${EXAMPLES}`)
    .exitOverride();
  program.commandsGroup(SERVICE_COMMANDS);
  declareHostCommands(program);
  program.commandsGroup(CLIENT_COMMANDS);
  for (const feature of context.features) feature.commands?.(program);
  return program;
}

/** The commands that run a service, and those about its configuration. */
function declareHostCommands(program: ProgramCommand): void {
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
