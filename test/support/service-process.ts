import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';

/** What serves until it is stopped. */
export interface Serving {
  /** Everything that it has written to stdout and stderr. */
  readonly output: string;
  readonly pid: number;
  /** Resolves with the exit code. */
  stop(signal: NodeJS.Signals): Promise<number | null>;
}

/** The service as a child process. */
export class ServiceProcess implements Serving {
  output = '';
  readonly #child: ChildProcess;

  constructor([program = '', ...args]: readonly string[], env: Readonly<Record<string, string>>) {
    this.#child = spawn(program, args, { stdio: ['ignore', 'pipe', 'pipe'], env });
    const { stdout, stderr } = this.#child;
    for (const stream of [stdout, stderr]) stream?.on('data', (chunk) => (this.output += String(chunk)));
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  /** Throws if it has ended. */
  assertRunning(): void {
    const { exitCode } = this.#child;
    if (exitCode !== null) throw new Error(`the service ended with ${exitCode}: ${this.output}`);
  }

  async stop(signal: NodeJS.Signals): Promise<number | null> {
    const child = this.#child;
    if (child.exitCode !== null || child.signalCode !== null) return child.exitCode;
    // `close` comes once the whole output has been read.
    const ended = once(child, 'close');
    child.kill(signal);
    const [code] = (await ended) as [number | null];
    return code;
  }
}
