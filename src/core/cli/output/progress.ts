import type { Clock } from '../../model/ports/host-ports.ts';

/** Delay before the line appears: a shorter wait needs no explanation. */
const SHOWN_AFTER_MS = 1000;
const ERASE = '\r\x1b[K';

/**
 * After one second of waiting, shows on a terminal what the command waits for. Call `end` before printing anything
 * else: it erases the line.
 */
export class ProgressLine {
  readonly #write: (text: string) => void;
  readonly #clock: Clock;
  #text = '';
  #sinceMs = 0;
  #isShown = false;
  #cancel: (() => void) | undefined;

  constructor(write: (text: string) => void, clock: Clock) {
    this.#write = write;
    this.#clock = clock;
  }

  /** Begins a wait that `text` describes. If a wait has already begun, only replaces the text. */
  start(text: string): void {
    this.#text = text;
    if (this.#cancel !== undefined) return;
    this.#sinceMs = this.#clock.monotonic();
    this.#next();
  }

  end(): void {
    this.#cancel?.();
    this.#cancel = undefined;
    if (this.#isShown) this.#write(ERASE);
    this.#isShown = false;
  }

  #next(): void {
    this.#cancel = this.#clock.after(SHOWN_AFTER_MS, () => {
      const seconds = Math.round((this.#clock.monotonic() - this.#sinceMs) / 1000);
      this.#write(`${ERASE}${this.#text} … ${seconds} s`);
      this.#isShown = true;
      this.#next();
    });
  }
}
