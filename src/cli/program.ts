import { Command } from 'commander';
import { declareClientCommands } from './client-commands.ts';
import { type ClientContext, EXIT } from './command.ts';
import { nonEmpty, type Runs } from './declaration.ts';
import { declareHostCommands } from './host-commands.ts';

const EXIT_CODES = `
Exit codes:
  ${EXIT.ok}   done, asked to stop, or the first launch
  ${EXIT.crash}   crashed, or a check found a problem
  ${EXIT.usage}  the command line means nothing
  ${EXIT.refusedInput}  the service refused what it was given, or does not have it
  ${EXIT.unavailable}  the service is not there or cannot do it now; for serve: the port is taken
  ${EXIT.serviceFailed}  the service failed; a send may have gone out
  ${EXIT.startAgain}  wants to be started again
  ${EXIT.keyRefused}  the key is refused
  ${EXIT.config}  the configuration or key file cannot be used (0 with serve --supervised)

Examples:
  postern demo                      look around on a simulated Mac
  postern tail --demo               watch what happens on it
  postern send +15550100 Hello      send with the service of this machine`;

/** Everything the command line offers. A command's code is loaded only when it is wanted. */
export function declareProgram(context: ClientContext, runs: Runs): Command {
  const program = new Command('postern')
    .description('A small back gate to Apple Messages: REST, WebSocket and signed webhooks.')
    .version(context.version)
    .option('--config-dir <folder>', 'where config.toml and state.db are', nonEmpty)
    .configureHelp({ showGlobalOptions: true })
    .configureOutput({ outputError: () => {} })
    .addHelpText('after', EXIT_CODES)
    .exitOverride();
  program.commandsGroup('To run it:');
  declareHostCommands(program, context, runs);
  program.commandsGroup('To use it while it runs:');
  declareClientCommands(program, context, runs);
  return program;
}
