import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Command, CommanderError } from 'commander';
import { EXIT } from './core/cli/context.ts';
import { isServing, type Runs } from './core/cli/declaration.ts';
import { outputWritten, processContext } from './core/cli/process-context.ts';
import { declareProgram } from './core/cli/program.ts';
import { usageMistake } from './core/cli/usage-mistake.ts';
import { packageVersion } from './core/cli/version.ts';
import { isAppError } from './core/model/errors.ts';
import { FEATURES } from './features/list.ts';

const context = processContext(packageVersion(), FEATURES);

/** Words that people try instead of `--version`. */
const VERSION_WORDS: ReadonlySet<string> = new Set(['-v', 'version']);

const exitCode = await run(process.argv);
await outputWritten();
process.exit(exitCode);

async function run(argv: readonly string[]): Promise<number> {
  let exitCode: number = EXIT.ok;
  const runs: Runs =
    (load) =>
    async (...given) => {
      // The last two arguments from commander are the command's options and the command itself.
      const command = given.at(-1) as Command;
      if (!isServing(command)) await leaveSignals();
      const options = command.optsWithGlobals();
      const start = (await load()) as (...given: unknown[]) => Promise<number | undefined>;
      exitCode = (await start(...given.slice(0, -2), options, context)) ?? EXIT.ok;
    };
  const program = declareProgram(context, runs);
  try {
    await program.parseAsync(VERSION_WORDS.has(argv[2] ?? '') ? [...argv.slice(0, 2), '--version'] : argv);
    return exitCode;
  } catch (error) {
    if (isAppError(error) && error.code === 'sqlite_missing') {
      return (await import('./core/cli/another-node.ts')).runOnAnotherNode(error, context);
    }
    if (!isCommanderError(error)) throw error;
    if (error.exitCode === 0) return EXIT.ok;
    // The command has subcommands and was used without one, so its help was shown.
    if (error.code === 'commander.help') return EXIT.usage;
    const [sentence, advice] = usageMistake(error, program);
    context.stderr(context.paintError('red', `postern: ${sentence}`), advice);
    return EXIT.usage;
  }
}

/**
 * Lets the signal listeners of dist/main.js handle a signal that arrived while the program was loading, because the
 * signal would be lost otherwise. Then removes the listeners. They would exit with 0, which is wrong for an interrupted
 * send, and would keep `tail` from printing its last line.
 */
async function leaveSignals(): Promise<void> {
  for (let turns = 0; turns < 2; turns += 1) await nextTurn();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.removeAllListeners(signal);
}

function isCommanderError(error: unknown): error is CommanderError {
  const code = (error as { code?: unknown } | undefined)?.code;
  return typeof code === 'string' && code.startsWith('commander.');
}
