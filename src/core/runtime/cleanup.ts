import type { Log } from '../model/ports/host-ports.ts';

/** Something that a service starts, and must end and release. */
export interface Part {
  start?(): void | Promise<void>;
  /** Ends the part's work. Resolves once none of it runs any more. */
  end?(): void | Promise<void>;
  /** Releases what the part holds. */
  close?(): void | Promise<void>;
}

/**
 * The parts of a service. `start` starts them in the order in which they were added. `close` stops them in the reverse
 * order: it first ends the work of all parts at once, because together they have 10 s, and then closes one after the
 * other.
 */
export class Cleanup {
  readonly #parts: { readonly name: string; readonly part: Part }[] = [];
  #closing: Promise<void> | undefined;
  readonly #log: Log;

  constructor(log: Log) {
    this.#log = log;
  }

  add(name: string, part: Part | (() => void | Promise<void>)): void {
    this.#parts.push({ name, part: typeof part === 'function' ? { close: part } : part });
  }

  async start(): Promise<void> {
    for (const { part } of this.#parts) await part.start?.();
  }

  /**
   * Stops the parts, including those that never started. Logs a failure and continues. A second call waits for the
   * first.
   */
  close(): Promise<void> {
    this.#closing ??= this.#stop();
    return this.#closing;
  }

  async #stop(): Promise<void> {
    const reversed = this.#parts.toReversed();
    await Promise.all(reversed.map(({ name, part }) => this.#logged(name, () => part.end?.())));
    for (const { name, part } of reversed) await this.#logged(name, () => part.close?.());
  }

  async #logged(step: string, run: () => void | Promise<void>): Promise<void> {
    try {
      await run();
    } catch (error) {
      this.#log.error('a shutdown step failed', { step, error });
    }
  }
}
