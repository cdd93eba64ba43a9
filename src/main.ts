import { setImmediate as nextTurn } from 'node:timers/promises';
import { EXIT } from './core/cli/context.ts';
import { outputWritten, processContext } from './core/cli/process-context.ts';
import { runProgram } from './core/cli/run-program.ts';
import { packageVersion } from './core/cli/version.ts';
import { FEATURES } from './features/list.ts';

const context = processContext(packageVersion(), FEATURES);
const exitCode = await runProgram(process.argv, context, leaveSignals);
const lost = await outputWritten();
if (lost !== undefined) context.stderr(`postern: the output could not be written (${lost.message}).`);
process.exit(lost === undefined ? exitCode : exitCode || EXIT.failed);

/**
 * Lets the signal listeners of dist/main.js handle a signal that arrived while the program was loading, because the
 * signal would be lost otherwise. Then removes the listeners. They would exit with 0, which is wrong for an interrupted
 * send, and would keep `tail` from printing its last line.
 */
async function leaveSignals(): Promise<void> {
  for (let turns = 0; turns < 2; turns += 1) await nextTurn();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.removeAllListeners(signal);
}
