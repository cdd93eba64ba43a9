import type { ClientContext } from './client-context.ts';
import { CLIENT_COMMANDS, nonEmpty, ProgramCommand, SERVICE_COMMANDS, type StartCommand } from './declaration.ts';
import { EXIT_CODE_HELP } from './exit-codes.ts';
import { declareHostCommands } from './host-commands.ts';

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
