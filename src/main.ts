import type { Command, CommanderError } from 'commander';
import { EXIT } from './cli/context.ts';
import type { Runs } from './cli/declaration.ts';
import { outputWritten, processContext } from './cli/process-context.ts';
import { declareProgram } from './cli/program.ts';
import { packageVersion } from './cli/version.ts';
import { isAppError } from './domain/errors.ts';

const context = processContext(packageVersion());

/** Commands for which to be asked to stop is a good end (decision A3), from their first moment on. */
const SERVING: ReadonlySet<string> = new Set(['serve', 'demo', 'run']);

const exitCode = await run(process.argv);
await outputWritten();
process.exit(exitCode);

async function run(argv: readonly string[]): Promise<number> {
  let exitCode: number = EXIT.ok;
  const runs: Runs =
    (start) =>
    async (...given) => {
      const command = given.at(-1) as Parameters<typeof start>[0];
      if (!SERVING.has(command.name())) leaveSignals();
      exitCode = await start(command);
    };
  const program = declareProgram(context, runs);
  try {
    await program.parseAsync(argv);
    return exitCode;
  } catch (error) {
    if (isAppError(error) && error.code === 'sqlite_missing') {
      context.stderr(`Postern does not start: ${error.message}`, `  ${error.hint ?? ''}`);
      return EXIT.config;
    }
    if (!isCommanderError(error)) throw error;
    if (error.exitCode === 0) return EXIT.ok;
    // A command with commands beneath it, given alone: its help was shown.
    if (error.code === 'commander.help') return EXIT.usage;
    context.stderr(
      `postern: ${usageMistake(error, program)}`,
      `${commandsIn(program)
        .map((command) => command.name())
        .join(' ')} --help lists commands and options.`,
    );
    return EXIT.usage;
  }
}

/** Takes back what dist/main.js does at a signal: a send that was interrupted is not done, and tail has a last word. */
function leaveSignals(): void {
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.removeAllListeners(signal);
}

function usageMistake({ code, message }: CommanderError, program: Command): string {
  if (code === 'commander.excessArguments') {
    const command = commandsIn(program).at(-1) ?? program;
    if (command === program) return `there is no command ${program.args[0] ?? ''}.`;
    const surplus = command.args[command.registeredArguments.length] ?? '';
    const hint = command.registeredArguments.some((argument) => argument.name() === 'text')
      ? ' Put the text in quotes.'
      : '';
    return `unexpected argument ${surplus}.${hint}`;
  }
  return message
    .replace(/^error: /, '')
    .replace(/\n/g, ' ')
    .replace(/\.?$/, '.');
}

/** The program, the command that was meant, and what is between them. */
function commandsIn(program: Command): readonly Command[] {
  const commands = [program];
  for (const name of program.args) {
    const child = commands.at(-1)?.commands.find((one) => one.name() === name);
    if (child === undefined) break;
    commands.push(child);
  }
  return commands;
}

function isCommanderError(error: unknown): error is CommanderError {
  const code = (error as { code?: unknown } | undefined)?.code;
  return typeof code === 'string' && code.startsWith('commander.');
}
