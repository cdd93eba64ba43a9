import type { Clock } from '../domain/ports/host.ts';
import type { ProcessLog } from './log.ts';

/** A stop is over within 10 s whatever happens (decision A7); what remains is for the exit itself. */
const STOP_LIMIT_MS = 9500;
/** 128 and the number of SIGTERM, as a shell reports it. */
const TERMINATED = 143;

export interface ShutdownOptions {
  readonly log: ProcessLog;
  readonly clock: Clock;
  /** A closed terminal ends what runs in it; without one a hangup means nothing (nohup, launchd). */
  readonly isTerminal: boolean;
  /** A supervisor such as launchd starts this process again unless it ends with 0. */
  readonly supervised: boolean;
}

/** How this process ends: by a signal (decision A7), by a crash (decision A3), or because the service wants to. */
export class Shutdown {
  /** Resolves as soon as the process shall end gracefully. */
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

  /** What to end with. */
  get exitCode(): number {
    return this.#exitCode ?? 0;
  }

  /** Takes signals and crashes over from the runtime. */
  watch(): void {
    const { log, isTerminal } = this.#options;
    for (const signal of ['SIGTERM', 'SIGINT'] as const) {
      process.removeAllListeners(signal); // those of dist/main.js, which end the process at once
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

  /** Ends gracefully with `exitCode`. Asked again before that is done, the later code counts. */
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
   * Decision T3: launchd ignores the code of a job that it stopped itself. When another program sent the signal, a 0
   * would keep the agent away until the next login.
   */
  #exitCodeAfter(signal: NodeJS.Signals): number {
    return signal === 'SIGTERM' && this.#options.supervised ? TERMINATED : 0;
  }

  #exitNow(exitCode: number): void {
    this.#options.log.flush();
    process.exit(exitCode);
  }
}
