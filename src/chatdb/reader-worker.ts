// The thread behind `ReaderThread`: a connection of its own, and every list read without regard to time.
import { parentPort, workerData } from 'node:worker_threads';
import { isAppError } from '../domain/errors.ts';
import type { Log } from '../domain/ports/host.ts';
import { sqliteLibrary } from '../runtime/sqlite.ts';
import { Connection } from './connection.ts';
import { ListReader } from './reader.ts';
import type { ThreadAnswer, ThreadCall, ThreadError } from './reader-thread.ts';

const {
  path,
  home,
  sqliteLibrary: ofMain,
} = workerData as {
  readonly path: string;
  readonly home: string;
  readonly sqliteLibrary: typeof sqliteLibrary;
};
// Two copies of SQLite in one process would drop each other's locks.
if (sqliteLibrary !== ofMain) throw new Error(`the reader thread would use ${sqliteLibrary} beside ${ofMain}`);

/** Long lists read many pages twice; the memory is free again when the thread ends. */
const CACHE_KIB = 32_768;

/** The reader writes debug lines only, and the main thread has the log. */
const log: Log = {
  debug: (debug, fields = {}) => post({ debug, fields }),
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
  child: () => log,
};
const connection = new Connection({ path, home, log, cacheKib: CACHE_KIB });
const methods = new ListReader(connection) as unknown as Readonly<
  Record<string, (...args: readonly unknown[]) => unknown>
>;

parentPort?.on('message', (call: ThreadCall) => {
  if (call === undefined) {
    connection.close();
    parentPort?.close();
    return;
  }
  try {
    // The main thread follows a replaced file by polling, this one before it reads.
    connection.check();
    post({ id: call.id, value: methods[call.method]?.(...call.args) });
  } catch (error) {
    post({ id: call.id, error: plain(error) });
  }
});

function post(answer: ThreadAnswer): void {
  parentPort?.postMessage(answer);
}

function plain(error: unknown): ThreadError {
  const { message, stack } = error instanceof Error ? error : new Error(String(error));
  if (!isAppError(error)) return { message, stack };
  const { status, code, hint, mistakes, extra } = error;
  return { message, app: { code, options: { status, mistakes, extra, ...(hint !== undefined && { hint }) } } };
}
