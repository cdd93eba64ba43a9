import type { Clock } from '../domain/ports/host-ports.ts';
import type { ProcessLog } from './log.ts';

/** A stop takes at most 10 s (decision A7), including the exit itself. */
const STOP_LIMIT_MS = 9500;
/** Exit code as shells report it: 128 plus the number of SIGTERM. */
const TERMINATED = 143;

export interface ShutdownOptions {
  readonly log: ProcessLog;
  readonly clock: Clock;
  /** True at a terminal, where closing the window ends the program. Elsewhere SIGHUP is ignored (nohup, launchd). */
  readonly isTerminal: boolean;
  /** True under a supervisor such as launchd, which restarts this process unless it exits with 0. */
  readonly supervised: boolean;
}

/** Ends this process: at a signal (decision A7), at a crash (decision A3), or at the service's own request. */
export class Shutdown {
  /** Resolves once the process should end gracefully. */
  readonly wanted: Promise<void>;
  readonly #options: ShutdownOptions;
  #want: () => void = () => {};
  #exitCode: number | undefined;
  #isSignalled = false;

  constructor(options: ShutdownOptions) {
    this.#options = options;
    this.wanted = new Promise((resolve) => {
      this.#want = resolve;
    });
  }

  get exitCode(): number {
    return this.#exitCode ?? 0;
  }

  /** Takes over the handling of signals and crashes from the runtime. */
  watch(): void {
    const { log, isTerminal } = this.#options;
    for (const signal of ['SIGTERM', 'SIGINT'] as const) {
      process.removeAllListeners(signal); // the listeners of dist/main.js would exit at once
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
    this.#options.clock.after(STOP_LIMIT_MS, () => {
      this.#options.log.error('shutdown took too long, exiting now');
      this.#exitNow(this.exitCode);
    });
    this.#want();
  }

  #signalled(signal: NodeJS.Signals): void {
    if (this.#isSignalled) this.#exitNow(this.exitCode);
    this.#isSignalled = true;
    this.#options.log.info('stopping', { signal });
    this.want(this.#exitCodeAfter(signal));
  }

  /**
   * Returns the exit code after a signal. launchd ignores the code of a job that it stopped itself. After another
   * program's signal, 0 would keep the agent down until the next login (decision T3).
   */
  #exitCodeAfter(signal: NodeJS.Signals): number {
    return signal === 'SIGTERM' && this.#options.supervised ? TERMINATED : 0;
  }

  #exitNow(exitCode: number): void {
    this.#options.log.flush();
    process.exit(exitCode);
  }
}
