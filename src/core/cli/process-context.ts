import { processEnvironment } from '../config/environment.ts';
import type { Feature } from '../feature.ts';
import { errorCode } from '../model/errors.ts';
import { systemClock } from '../runtime/clock.ts';
import type { ClientContext } from './client-context.ts';
import { ProgressLine } from './output/progress.ts';
import { isColoured, painter } from './output/style.ts';

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
/** Signals within this time after the first one count as the same request to end. */
const SAME_SIGNAL_MS = 2000;

/** Used for a terminal that does not know its width. */
const USUAL_COLUMNS = 80;

/** The reason why output was lost, such as a full disk. A reader that has ended, as after `| head`, is none. */
let outputError: Error | undefined;

/** Returns the context for commands in this process. */
export function processContext(version: string, features: readonly Feature[] = []): ClientContext {
  /** Aborted when stdout takes no more, for example after `| head`. */
  const unread = new AbortController();
  process.stdout.on('error', (error) => {
    if (errorCode(error) !== 'EPIPE') outputError ??= error;
    unread.abort();
  });
  process.stderr.on('error', () => {});
  const environment = { ...processEnvironment(), features };
  const line = new ProgressLine((text) => void process.stderr.write(text), systemClock);
  const print = (stream: NodeJS.WriteStream, text: string, done?: () => void): void => {
    line.end();
    stream.write(text, () => done?.());
  };
  return {
    environment,
    features,
    version,
    isTerminal: process.stdout.isTTY,
    isErrorTerminal: process.stderr.isTTY,
    paint: painter(isColoured(environment, process.stdout.isTTY)),
    paintError: painter(isColoured(environment, process.stderr.isTTY)),
    columns: process.stdout.isTTY ? process.stdout.columns || USUAL_COLUMNS : undefined,
    progress(text) {
      if (text === undefined) line.end();
      else if (process.stderr.isTTY) line.start(text);
    },
    input() {
      line.end();
      return process.stdin;
    },
    async secretLine(prompt) {
      line.end();
      return (await import('./output/secret-line.ts')).secretLine(prompt, process.stdin, process.stderr);
    },
    stdout: (...lines) => print(process.stdout, `${lines.join('\n')}\n`),
    stderr: (...lines) => print(process.stderr, `${lines.join('\n')}\n`),
    writeLine: (text) => new Promise((resolve) => print(process.stdout, `${text}\n`, resolve)),
    untilEnded() {
      line.end();
      const asked = new AbortController();
      let askedAtMs: number | undefined;
      // One Ctrl+C can arrive twice, from the terminal and from the parent process. So only a signal after
      // `SAME_SIGNAL_MS` counts as a second one.
      const end = (signal: NodeJS.Signals): void => {
        asked.abort();
        askedAtMs ??= systemClock.monotonic();
        if (systemClock.monotonic() - askedAtMs < SAME_SIGNAL_MS) return;
        for (const one of SIGNALS) process.off(one, end);
        process.kill(process.pid, signal);
      };
      for (const signal of SIGNALS) process.on(signal, end);
      return AbortSignal.any([asked.signal, unread.signal]);
    },
  };
}

/**
 * Resolves once all output is written. When a command ends, a pipe may not have taken all of it yet. Resolves with the
 * error if output was lost.
 */
export async function outputWritten(): Promise<Error | undefined> {
  for (const stream of [process.stdout, process.stderr]) {
    await new Promise<void>((resolve) => stream.write('', () => resolve()));
  }
  return outputError;
}
