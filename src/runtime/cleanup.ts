import type { Log } from '../domain/ports/host-ports.ts';

/**
 * Runs the added steps at shutdown, in reverse order. Logs a step that fails and continues with the next one. A second
 * `close` waits for the first.
 */
export class Cleanup {
  readonly #steps: { readonly name: string; readonly close: () => void | Promise<void> }[] = [];
  #closing: Promise<void> | undefined;
  readonly #log: Log;

  constructor(log: Log) {
    this.#log = log;
  }

  add(name: string, close: () => void | Promise<void>): void {
    this.#steps.push({ name, close });
  }

  close(): Promise<void> {
    this.#closing ??= this.#run();
    return this.#closing;
  }

  async #run(): Promise<void> {
    for (const step of this.#steps.toReversed()) {
      try {
        await step.close();
      } catch (error) {
        this.#log.error('a shutdown step failed', { step: step.name, error });
      }
    }
  }
}
