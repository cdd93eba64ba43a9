import { Command } from 'commander';
import { declareClientCommands } from './client-commands.ts';
import { type ClientContext, EXIT } from './context.ts';
import { nonEmpty, type Runs } from './declaration.ts';
import { declareHostCommands } from './host-commands.ts';

const EXIT_CODES = `
Exit codes:
  ${EXIT.ok}   success, asked to stop, or the first launch
  ${EXIT.crash}   crash, a check found a problem, or send --wait: it failed
  ${EXIT.usage}  invalid usage
  ${EXIT.refusedInput}  the service refused the input, or does not have what was asked for
  ${EXIT.unavailable}  the service is not running or cannot do it now; for serve: the port is taken
  ${EXIT.serviceFailed}  the service failed; a message may have been sent
  ${EXIT.startAgain}  must be started again (a permission was just granted)
  ${EXIT.keyRefused}  the key was refused
  ${EXIT.config}  the configuration or key file cannot be used (0 with serve --supervised)
  ${EXIT.timedOut} send --wait: not in time

Examples:
  postern demo                      try it on a simulated Mac
  postern tail --demo               print its events
  postern send +15550100 Hello      send through the service on this machine`;

/** Everything the command line offers. A command's code is loaded only when it is wanted. */
export function declareProgram(context: ClientContext, runs: Runs): Command {
  const program = new Command('postern')
    .description('A local gateway to Apple Messages: REST, WebSocket and signed webhooks.')
    .version(context.version)
    .option('--config-dir <folder>', 'where config.toml and state.db are', nonEmpty)
    .configureHelp({ showGlobalOptions: true })
    .configureOutput({ outputError: () => {} })
    .addHelpText('after', EXIT_CODES)
    .exitOverride();
  program.commandsGroup('Run and manage the service:');
  declareHostCommands(program, context, runs);
  program.commandsGroup('Use the running service:');
  declareClientCommands(program, context, runs);
  return program;
}
