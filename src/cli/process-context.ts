import { processEnvironment } from '../config/environment.ts';
import type { ClientContext } from './context.ts';

/** What commands need of this process. */
export function processContext(version: string): ClientContext {
  /** Aborted when nobody reads what we print any more. That is no crash. */
  const unread = new AbortController();
  process.stdout.on('error', () => unread.abort());
  process.stderr.on('error', () => {});
  return {
    environment: processEnvironment(),
    version,
    isTerminal: process.stdout.isTTY,
    // A terminal that does not know its width says 0.
    columns: process.stdout.isTTY ? process.stdout.columns || undefined : undefined,
    input: () => process.stdin,
    stdout: (...lines) => void process.stdout.write(`${lines.join('\n')}\n`),
    stderr: (...lines) => void process.stderr.write(`${lines.join('\n')}\n`),
    writeLine: (line) => new Promise((resolve) => process.stdout.write(`${line}\n`, () => resolve())),
    untilEnded() {
      const asked = new AbortController();
      for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, () => asked.abort());
      return AbortSignal.any([asked.signal, unread.signal]);
    },
  };
}

/** Resolves when everything that was printed has been written: a pipe takes it in its own time. */
export async function outputWritten(): Promise<void> {
  for (const stream of [process.stdout, process.stderr]) {
    await new Promise<void>((resolve) => stream.write('', () => resolve()));
  }
}
