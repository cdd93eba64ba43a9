import type { CommanderError } from 'commander';
import { isAppError } from '../model/errors.ts';
import type { ClientContext } from './client-context.ts';
import { EXIT } from './context.ts';
import type { StartCommand } from './declaration.ts';
import { printable } from './output/text.ts';
import { declareProgram } from './program.ts';
import { usageMistake } from './usage-mistake.ts';

/** Words that people try instead of `--version`. */
const VERSION_WORDS: ReadonlySet<string> = new Set(['-v', 'version']);

/**
 * Runs the command line `argv`. Resolves with the exit code. Calls `beforeCommand` before a command that does not run
 * until a signal stops it.
 */
export async function runProgram(
  argv: readonly string[],
  context: ClientContext,
  beforeCommand: () => Promise<void>,
): Promise<number> {
  let exitCode: number = EXIT.ok;
  const run: StartCommand = async (command, load, given) => {
    if (!command.isServing) await beforeCommand();
    const options = command.optsWithGlobals();
    const start = (await load()) as (...given: unknown[]) => Promise<number | undefined>;
    exitCode = (await start(...given.slice(0, -2), options, context)) ?? EXIT.ok;
  };
  const program = declareProgram(context, run);
  try {
    await program.parseAsync(VERSION_WORDS.has(argv[2] ?? '') ? [...argv.slice(0, 2), '--version'] : argv);
    return exitCode;
  } catch (error) {
    if (isAppError(error) && error.code === 'sqlite_missing') {
      return (await import('./another-node.ts')).runOnAnotherNode(error, context);
    }
    if (!isCommanderError(error)) throw error;
    if (error.exitCode === 0) return EXIT.ok;
    // The command has subcommands and was used without one, so its help was shown.
    if (error.code === 'commander.help') return EXIT.usage;
    const [sentence, advice] = usageMistake(error, program);
    context.stderr(context.paintError('red', `postern: ${printable(sentence)}`), advice);
    return EXIT.usage;
  }
}

function isCommanderError(error: unknown): error is CommanderError {
  const code = (error as { code?: unknown } | undefined)?.code;
  return typeof code === 'string' && code.startsWith('commander.');
}
