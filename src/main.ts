import { Command, type CommanderError, InvalidArgumentError } from 'commander';
import { type Context, EXIT } from './cli/command.ts';
import { packageVersion } from './cli/version.ts';
import { surroundings } from './config/surroundings.ts';

const EXIT_CODES = `
Exit codes:
  ${EXIT.ok}   asked to stop, or the first launch
  ${EXIT.crash}   crashed
  ${EXIT.usage}  the command line means nothing
  ${EXIT.portTaken}  the port is taken
  ${EXIT.startAgain}  wants to be started again
  ${EXIT.config}  the configuration cannot be used (0 with --supervised)`;

const context: Context = {
  around: surroundings(),
  version: packageVersion(),
  isTerminal: process.stdout.isTTY,
  say: (...lines) => void process.stdout.write(`${lines.join('\n')}\n`),
  complain: (...lines) => void process.stderr.write(`${lines.join('\n')}\n`),
};

// Whoever reads what we print may go away; that is no crash.
for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {});
process.exit(await run(process.argv));

async function run(argv: readonly string[]): Promise<number> {
  let exitCode: number = EXIT.ok;
  const program = new Command('postern')
    .description('A small back gate to Apple Messages: REST, WebSocket and signed webhooks.')
    .version(context.version)
    .option('--config-dir <folder>', 'where config.toml and state.db are', nonEmpty)
    .configureHelp({ showGlobalOptions: true })
    .configureOutput({ outputError: () => {} })
    .addHelpText('after', EXIT_CODES)
    .exitOverride();

  // A command's code is loaded only when it is wanted.
  program
    .command('serve', { isDefault: true })
    .description('Serve. The first launch only writes the configuration.')
    .option('--supervised', 'a supervisor such as launchd starts it again after a failure')
    .action(async (_, command: Command) => {
      const { serve } = await import('./cli/serve.ts');
      exitCode = await serve(command.optsWithGlobals(), context);
    });
  program
    .command('demo')
    .description('Serve a simulated Mac with a few people on it. Touches nothing of yours.')
    .option('--dir <folder>', 'where the simulated Mac lives', nonEmpty)
    .option('--port <number>', 'the TCP port, instead of the one in its config.toml', portNumber)
    .action(async (_, command: Command) => {
      const { demo } = await import('./cli/demo.ts');
      exitCode = await demo(command.optsWithGlobals(), context);
    });
  program
    .command('run', { hidden: true })
    .description('First launch if there was none, then serve; without Messages, the demo.')
    .action(async (_, command: Command) => {
      const { run: runWhatIsThere } = await import('./cli/run.ts');
      exitCode = await runWhatIsThere(command.optsWithGlobals(), context);
    });

  try {
    await program.parseAsync(argv);
    return exitCode;
  } catch (error) {
    if (!isCommanderError(error)) throw error;
    if (error.exitCode === 0) return EXIT.ok;
    context.complain(`postern: ${usageMistake(error, program)}`, 'postern --help says what there is.');
    return EXIT.usage;
  }
}

function usageMistake({ code, message }: CommanderError, program: Command): string {
  const [first = '', second = ''] = program.args;
  if (code === 'commander.excessArguments') {
    const isCommand = program.commands.some((command) => command.name() === first);
    return isCommand ? `${first} takes no ${second}.` : `there is no command ${first}.`;
  }
  return message
    .replace(/^error: /, '')
    .replace(/\n/g, ' ')
    .replace(/\.?$/, '.');
}

function isCommanderError(error: unknown): error is CommanderError {
  const code = (error as { code?: unknown } | undefined)?.code;
  return typeof code === 'string' && code.startsWith('commander.');
}

function nonEmpty(value: string): string {
  if (value === '') throw new InvalidArgumentError('It is empty.');
  return value;
}

function portNumber(value: string): number {
  const port = /^\d{1,5}$/.test(value) ? Number(value) : 0;
  if (port < 1 || port > 65_535) throw new InvalidArgumentError('It must be a whole number from 1 to 65535.');
  return port;
}
