// The thread behind `ReaderThread`. Runs everything that can take long, on its own connection to chat.db.
import { parentPort, workerData } from 'node:worker_threads';
import type { SharedDatabaseParts } from './core/chatdb/chatdb-handle.ts';
import { Connection } from './core/chatdb/connection.ts';
import { ListReader } from './core/chatdb/list-reader.ts';
import { errorCode, isAppError } from './core/model/errors.ts';
import type { Log } from './core/model/ports/host-ports.ts';
import type { ThreadAnswer, ThreadCall, ThreadError } from './core/runtime/reader-thread.ts';
import { sqliteLibrary } from './core/runtime/sqlite.ts';
import { DecodedRowNote, type SharedRow } from './core/runtime/watched-row.ts';
import { DECODERS, ROW_FEATURES } from './features/rows.ts';

const {
  database,
  sqliteLibrary: ofMain,
  row,
} = workerData as {
  readonly database: SharedDatabaseParts;
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
const connection = new Connection({ ...database, log, decoders: DECODERS, decoding });

/** The objects of this thread whose methods the main thread can call. Features have more. */
export interface ThreadTargets {
  readonly lists: ListReader;
}

/** An object of this thread. Some have a method `close`, which releases files. */
type Target = Readonly<Record<string, (...args: readonly unknown[]) => unknown>>;

const makers = Object.assign(
  { lists: () => new ListReader(connection) },
  ...ROW_FEATURES.map((one) => one(connection)),
) as Readonly<Record<string, () => Target | Promise<Target>>>;
/** The objects that were called at least once. Key: the name. */
const made = new Map<string, Promise<Target>>();

parentPort?.on('message', (call: ThreadCall) => void (call === undefined ? end() : answer(call)));

async function end(): Promise<void> {
  for (const one of made.values()) (await one).close?.();
  connection.close();
  parentPort?.close();
}

async function answer({ id, target: name, method, args }: Exclude<ThreadCall, undefined>): Promise<void> {
  try {
    const target = made.get(name) ?? Promise.resolve(makers[name]?.() ?? {});
    made.set(name, target);
    const object = await target;
    // Notices if chat.db was replaced by another file. The main thread notices by polling; this thread checks before
    // each call.
    connection.check();
    post({ id, value: object[method]?.(...args) });
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
