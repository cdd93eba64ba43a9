// The thread behind `ReaderThread`. Runs everything that can take long, on its own connection to chat.db.
import { parentPort, workerData } from 'node:worker_threads';
import { Connection } from './core/chatdb/connection.ts';
import { Fingerprints } from './core/chatdb/fingerprints.ts';
import { IndexReader } from './core/chatdb/index-source.ts';
import { ListReader } from './core/chatdb/reader.ts';
import type { AssociatedRows } from './core/model/associated-rows.ts';
import { errorCode, isAppError } from './core/model/errors.ts';
import type { HiddenText } from './core/model/hidden-text.ts';
import type { Log } from './core/model/ports/host-ports.ts';
import { checkpoint } from './core/runtime/checkpoint.ts';
import type { ThreadAnswer, ThreadCall, ThreadError } from './core/runtime/reader-thread.ts';
import { sqliteLibrary } from './core/runtime/sqlite.ts';
import { DecodedRowNote, type SharedRow } from './core/runtime/watched-row.ts';
import type { IndexWriter } from './features/search/index/index-writer.ts';
import type { Finder } from './features/search/query/finder.ts';

const {
  path,
  home,
  associatedRows,
  hidden,
  sqliteLibrary: ofMain,
  row,
} = workerData as {
  readonly path: string;
  readonly home: string;
  readonly associatedRows: AssociatedRows;
  readonly hidden: readonly HiddenText[];
  readonly sqliteLibrary: typeof sqliteLibrary;
  readonly row: SharedRow;
};
// Two copies of SQLite in one process would drop each other's locks.
if (sqliteLibrary !== ofMain) {
  throw new Error(`the reader thread loaded ${sqliteLibrary}, but the service uses ${ofMain}`);
}

/**
 * Passes debug lines to the main thread, which owns the log. Drops other lines, because code in this thread logs none.
 */
const log: Log = {
  debug: (debug, fields = {}) => post({ debug, fields }),
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
  child: () => log,
};
const decoding = new DecodedRowNote(row);
const connection = new Connection({ path, home, log, associatedRows, hidden, decoding });
/** The objects of this thread whose methods the main thread can call. */
export interface ThreadTargets {
  readonly lists: ListReader;
  readonly index: IndexReader;
  readonly prints: Pick<Fingerprints, 'range' | 'origins'>;
  readonly finder: Pick<Finder, 'find'>;
  readonly writer: Pick<IndexWriter, 'add' | 'put' | 'advance' | 'merge'>;
  readonly files: { readonly checkpoint: typeof checkpoint };
}

type Target = Readonly<Record<string, (...args: readonly unknown[]) => unknown>>;

const index = new IndexReader(connection);
let finder: Finder | undefined;
let writer: IndexWriter | undefined;
const lists = new ListReader(connection);
const prints = new Fingerprints(connection);
const files = { checkpoint };

const targets: { readonly [Name in keyof ThreadTargets]: () => ThreadTargets[Name] | Promise<ThreadTargets[Name]> } = {
  lists: () => lists,
  index: () => index,
  prints: () => prints,
  files: () => files,
  // The modules of search are loaded on first use.
  finder: async () => (finder ??= new (await import('./features/search/query/finder.ts')).Finder(index)),
  writer: async () => (writer ??= new (await import('./features/search/index/index-writer.ts')).IndexWriter(index)),
};

parentPort?.on('message', (call: ThreadCall) => {
  if (call !== undefined) return void answer(call);
  finder?.close();
  writer?.close();
  connection.close();
  parentPort?.close();
});

async function answer({ id, target: name, method, args }: Exclude<ThreadCall, undefined>): Promise<void> {
  try {
    const target = (await targets[name as keyof ThreadTargets]()) as unknown as Target;
    // Notices if chat.db was replaced by another file. The main thread notices by polling; this thread checks before
    // each call.
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
