import type { Clock } from '../model/ports/host-ports.ts';
import type { ProcessLog } from './log.ts';

/**
 * Time from a request to stop until the process exits anyway. A stop may take at most 10 s (decision A7), including the
 * exit itself.
 */
const STOP_LIMIT_MS = 9500;
/**
 * Time limits of a stop for running requests and for open sockets. osascript is killed after 8 s, and its request is
 * still answered.
 */
export const WORK_ENDS_WITHIN_MS = 8700;
export const SOCKETS_END_WITHIN_MS = 2000;
/** The exit code that shells report for a process ended by SIGTERM: 128 plus the signal's number. */
const TERMINATED = 143;

export interface ShutdownParts {
  readonly log: ProcessLog;
  readonly clock: Clock;
  /**
   * True if the program runs at a terminal. Closing the terminal's window sends SIGHUP, which then ends the program.
   * Otherwise SIGHUP is ignored, as under nohup and launchd.
   */
  readonly isTerminal: boolean;
  /** True under a supervisor such as launchd, which restarts this process unless it exits with 0. */
  readonly supervised: boolean;
}

/** Ends this process after a signal (decision A7), after a crash (decision A3), or when the service requests it. */
export class Shutdown {
  /** Resolves once the process should end gracefully. */
  readonly wanted: Promise<void>;
  readonly #parts: ShutdownParts;
  #want: () => void = () => {};
  #exitCode: number | undefined;
  #isSignalled = false;

  constructor(parts: ShutdownParts) {
    this.#parts = parts;
    this.wanted = new Promise((resolve) => {
      this.#want = resolve;
    });
  }

  get exitCode(): number {
    return this.#exitCode ?? 0;
  }

  /** Handles signals and uncaught errors from now on, instead of Node's defaults. */
  watch(): void {
    const { log, isTerminal } = this.#parts;
    for (const signal of ['SIGTERM', 'SIGINT'] as const) {
      process.removeAllListeners(signal); // dist/main.js has listeners that would exit at once
      process.on(signal, () => this.#signalled(signal));
    }
    process.on('SIGHUP', () => {
      if (isTerminal) this.#signalled('SIGHUP');
      else log.info('ignoring SIGHUP: restart to reload the configuration');
    });
    for (const event of ['uncaughtException', 'unhandledRejection'] as const) {
      process.on(event, (error: unknown) => {
        log.fatal('Postern crashed', { error });
        this.#exitNow(1);
      });
    }
  }

  /** Requests a graceful end with `exitCode`. A later request replaces the code. */
  want(exitCode: number): void {
    const isFirst = this.#exitCode === undefined;
    this.#exitCode = exitCode;
    if (!isFirst) return;
    this.#parts.clock.after(STOP_LIMIT_MS, () => {
      this.#parts.log.error('shutdown took too long, exiting now');
      this.#exitNow(this.exitCode);
    });
    this.#want();
  }

  #signalled(signal: NodeJS.Signals): void {
    if (this.#isSignalled) this.#exitNow(this.exitCode);
    this.#isSignalled = true;
    this.#parts.log.info('stopping', { signal });
    this.want(this.#exitCodeAfter(signal));
  }

  /**
   * Returns the exit code after a signal. Under a supervisor, the code for SIGTERM is 143: if another program sent
   * SIGTERM, 0 would make launchd keep the agent down until the next login. If launchd itself stopped the agent,
   * launchd ignores the code.
   */
  #exitCodeAfter(signal: NodeJS.Signals): number {
    return signal === 'SIGTERM' && this.#parts.supervised ? TERMINATED : 0;
  }

  #exitNow(exitCode: number): void {
    this.#parts.log.flush();
    process.exit(exitCode);
  }
}
