import { Worker } from 'node:worker_threads';
import { AppError, type AppErrorOptions } from '../model/errors.ts';
import type { Cancel, Clock, Log } from '../model/ports/host-ports.ts';
import { problem } from '../model/problems.ts';
import { sqliteLibrary } from './sqlite.ts';
import { WatchedRow } from './watched-row.ts';

export interface ReaderThreadParts {
  /** The compiled script of the thread. */
  readonly script: URL;
  /** How the script opens chat.db; it finds this in its `workerData`. */
  readonly database: object;
  readonly clock: Clock;
  readonly log: Log;
}

/** The names of an object's methods. */
type MethodOf<Target> = {
  [Name in keyof Target]: Target[Name] extends (...args: never[]) => unknown ? Name : never;
}[keyof Target] &
  string;

type Arguments<Method> = Method extends (...args: infer Values) => unknown ? Values : never;

type Result<Method> = Method extends (...args: never[]) => infer Value ? Value : never;

/** A message to the thread; undefined ends the thread. */
export type ThreadCall =
  | { readonly id: number; readonly target: string; readonly method: string; readonly args: readonly unknown[] }
  | undefined;

/** A message from the thread. */
export type ThreadAnswer =
  | { readonly id: number; readonly value: unknown }
  | { readonly id: number; readonly error: ThreadError }
  | { readonly debug: string; readonly fields: Readonly<Record<string, unknown>> };

/** An error in the form that passes between threads. This form keeps the error's fields but not its class. */
export interface ThreadError {
  readonly message: string;
  readonly stack?: string | undefined;
  readonly code?: string | undefined;
  readonly app?: { readonly code: string; readonly options: AppErrorOptions };
}

interface Call {
  readonly sent: Exclude<ThreadCall, undefined>;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: unknown) => void;
  isRetry: boolean;
}

const IDLE_MS = 60_000;
const LOOK_MS = 1000;
/**
 * Number of looks in a row at which the thread is ended if it still decodes the same row. The most expensive row takes
 * about 50 ms, so that even a Mac that is a hundred times slower finishes it. Looks are counted instead of time,
 * because a thread makes no progress while the Mac sleeps.
 */
const MAX_LOOKS = 5;

/**
 * A second connection to chat.db in a separate thread, for work that would block the event loop. The thread starts at
 * its first use and ends after a minute without work. A thread that is stuck in one row, or dies there, is replaced,
 * and the row's content is left out until the service restarts (decision AB14).
 *
 * SQLite keeps the locks of a file in one list per process, so two connections in one process do not break each other's
 * locks as long as one copy of SQLite serves both (sqlite.org/howtocorrupt.html, 2.2.1; unixInodeInfo in os_unix.c).
 * better-sqlite3 and node:sqlite load the same copy into every thread of a process.
 */
export class ReaderThread<Targets> {
  readonly #parts: ReaderThreadParts;
  readonly #calls = new Map<number, Call>();
  readonly #row = new WatchedRow();
  #cancelLook: Cancel | undefined;
  #maxLooks = MAX_LOOKS;
  #worker: Worker | undefined;
  #lastId = 0;
  #cancelEnd: Cancel | undefined;
  #isClosed = false;

  constructor(parts: ReaderThreadParts) {
    this.#parts = parts;
  }

  /** False in Bun and wherever else Postern runs from its TypeScript sources: a worker cannot load these. */
  static readonly isSupported = !('Bun' in globalThis || import.meta.url.endsWith('.ts'));

  /**
   * Calls a method of one of the objects in the thread. Rejects with the error that the method throws, or with
   * `shutting_down` if the reader thread is closed first.
   */
  call<Target extends keyof Targets & string, Method extends MethodOf<Targets[Target]>>(
    target: Target,
    method: Method,
    ...args: Arguments<Targets[Target][Method]>
  ): Promise<Result<Targets[Target][Method]>> {
    return new Promise((resolve, reject) => {
      this.#lastId += 1;
      const sent = { id: this.#lastId, target, method, args };
      if (this.#isClosed) return reject(problem('shutting_down'));
      this.#calls.set(sent.id, { sent, resolve: resolve as (value: unknown) => void, reject, isRetry: false });
      this.#cancelEnd?.();
      this.#worker ??= this.#start();
      this.#worker.ref();
      this.#worker.postMessage(sent);
      this.#cancelLook ??= this.#lookLater();
    });
  }

  /** Returns this thread as one that also has the objects of a feature. */
  with<More>(): ReaderThread<More> {
    return this as unknown as ReaderThread<More>;
  }

  /** Gives a row up after a second from now on, because the service is stopping. */
  hurry(): void {
    this.#maxLooks = 1;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#cancelEnd?.();
    this.#cancelLook?.();
    for (const { reject } of this.#calls.values()) reject(problem('shutting_down'));
    this.#calls.clear();
    await this.#worker?.terminate();
  }

  #start(): Worker {
    const { database, script } = this.#parts;
    // `execArgv` is empty, so that Node options of the main thread (a debugger, a probe) do not apply to the reader
    // thread.
    const worker = new Worker(script, {
      name: 'reader',
      workerData: { database, sqliteLibrary, row: this.#row.share() },
      execArgv: [],
    });
    let failure: unknown;
    worker.on('message', (answer: ThreadAnswer) => this.#receive(answer));
    worker.on('error', (error) => {
      failure = error;
    });
    worker.on('exit', () => {
      if (this.#worker !== worker) return;
      this.#worker = undefined;
      if (!this.#isClosed) this.#retry(failure);
    });
    return worker;
  }

  #receive(answer: ThreadAnswer): void {
    if ('debug' in answer) {
      this.#parts.log.debug(answer.debug, answer.fields);
      return;
    }
    const call = this.#calls.get(answer.id);
    this.#calls.delete(answer.id);
    if ('error' in answer) call?.reject(revived(answer.error));
    else call?.resolve(answer.value);
    if (this.#calls.size > 0) return;
    this.#cancelLook?.();
    this.#cancelLook = undefined;
    this.#worker?.unref();
    this.#cancelEnd = this.#parts.clock.after(IDLE_MS, () => {
      this.#worker?.postMessage(undefined);
      this.#worker = undefined;
    });
  }

  #lookLater(): Cancel {
    return this.#parts.clock.after(LOOK_MS, () => {
      this.#cancelLook = this.#lookLater();
      if (this.#row.look() >= this.#maxLooks) void this.#worker?.terminate();
    });
  }

  /**
   * Handles an unexpected end of the thread. Repeats the unanswered calls in a new thread, without the row that the old
   * thread was decoding. If it was decoding none and the new thread ends too, rejects these calls with
   * `chat_db_unreadable`.
   */
  #retry(failure: unknown): void {
    const rowId = this.#row.leaveOut();
    if (rowId === undefined) this.#parts.log.error('the reader thread ended unexpectedly', { error: failure });
    else this.#parts.log.error('the content of a message could not be decoded and is left out', { row: rowId });
    const retried: Call[] = [];
    for (const call of this.#calls.values()) {
      if (call.isRetry && rowId === undefined) {
        this.#calls.delete(call.sent.id);
        call.reject(problem('chat_db_unreadable', { reason: 'the reader thread ended' }, { cause: failure }));
      } else {
        call.isRetry ||= rowId === undefined;
        retried.push(call);
      }
    }
    if (retried.length === 0) return;
    this.#worker = this.#start();
    for (const { sent } of retried) this.#worker.postMessage(sent);
  }
}

function revived({ message, stack, code, app }: ThreadError): Error {
  if (app !== undefined) return new AppError(app.code, message, app.options);
  return Object.assign(new Error(message), stack !== undefined && { stack }, code !== undefined && { code });
}
