// The thread behind `ReaderThread`: a connection of its own, and everything that may take its time.
import { parentPort, workerData } from 'node:worker_threads';
import { Connection } from './chatdb/connection.ts';
import { Fingerprints } from './chatdb/fingerprints.ts';
import { IndexReader } from './chatdb/index-source.ts';
import { ListReader } from './chatdb/reader.ts';
import type { AssociatedRows } from './domain/associated-rows.ts';
import { errorCode, isAppError } from './domain/errors.ts';
import type { Log } from './domain/ports/host.ts';
import { checkpoint } from './runtime/checkpoint.ts';
import type { ThreadAnswer, ThreadCall, ThreadError } from './runtime/reader-thread.ts';
import { sqliteLibrary } from './runtime/sqlite.ts';
import type { Finder } from './search/finder.ts';
import type { IndexWriter } from './search/index-writer.ts';

const {
  path,
  home,
  associatedRows,
  sqliteLibrary: ofMain,
} = workerData as {
  readonly path: string;
  readonly home: string;
  readonly associatedRows: AssociatedRows;
  readonly sqliteLibrary: typeof sqliteLibrary;
};
// Two copies of SQLite in one process would drop each other's locks.
if (sqliteLibrary !== ofMain) throw new Error(`the reader thread would use ${sqliteLibrary} beside ${ofMain}`);

/** The reader writes debug lines only, and the main thread has the log. */
const log: Log = {
  debug: (debug, fields = {}) => post({ debug, fields }),
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
  child: () => log,
};
const connection = new Connection({ path, home, log, associatedRows });
const index = new IndexReader(connection);
let finder: Finder | undefined;
let writer: IndexWriter | undefined;

/** What the thread can be asked for. */
export type ThreadMethods = ListReader &
  IndexReader &
  Pick<Fingerprints, 'range' | 'origins'> &
  Pick<Finder, 'find'> &
  Pick<IndexWriter, 'add' | 'put' | 'advance' | 'merge'> &
  typeof files;

type Target = Readonly<Record<string, (...args: readonly unknown[]) => unknown>>;

const lists = new ListReader(connection);
const prints = new Fingerprints(connection);
const files = { checkpoint };

async function targetOf(method: string): Promise<unknown> {
  if (method in lists) return lists;
  if (method in index) return index;
  if (method in prints) return prints;
  if (method in files) return files;
  // Loaded when somebody searches, or while an index is made.
  if (method !== 'find') {
    writer ??= new (await import('./search/index-writer.ts')).IndexWriter(index);
    return writer;
  }
  finder ??= new (await import('./search/finder.ts')).Finder(index);
  return finder;
}

parentPort?.on('message', (call: ThreadCall) => {
  if (call !== undefined) return void answer(call);
  finder?.close();
  writer?.close();
  connection.close();
  parentPort?.close();
});

async function answer({ id, method, args }: Exclude<ThreadCall, undefined>): Promise<void> {
  try {
    const target = (await targetOf(method)) as Target;
    // The main thread follows a replaced file by polling, this one before it reads.
    connection.check();
    post({ id, value: target[method]?.(...args) });
  } catch (error) {
    post({ id, error: plain(error) });
  }
}

function post(answer: ThreadAnswer): void {
  parentPort?.postMessage(answer);
}

function plain(error: unknown): ThreadError {
  const { message, stack } = error instanceof Error ? error : new Error(String(error));
  if (!isAppError(error)) return { message, stack, code: errorCode(error) };
  const { status, code, hint, mistakes, extra } = error;
  return { message, app: { code, options: { status, mistakes, extra, ...(hint !== undefined && { hint }) } } };
}
