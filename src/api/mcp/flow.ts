/** Maximum number of bytes that a stream may be ahead of its client. */
const MAX_AHEAD = 256 * 1024;

/**
 * Lets the writer of a streamed answer wait for its reader. Without it, the protocol's package would buffer any amount.
 */
export class Flow {
  #ahead = 0;
  #isOver = false;
  #wake = (): void => {};
  #noteEnd = (): void => {};
  /** Resolves once the answer has ended, or its reader has gone. */
  readonly ended = new Promise<void>((resolve) => {
    this.#noteEnd = resolve;
  });

  noteSent(bytes: number): void {
    this.#ahead += bytes;
  }

  noteTaken(bytes: number): void {
    // More bytes are taken than were noted as sent, because framing adds some.
    this.#ahead = Math.max(0, this.#ahead - bytes);
    this.#wake();
  }

  /** Resolves once there is room for more, or the answer has ended. */
  async room(): Promise<void> {
    while (this.#ahead > MAX_AHEAD && !this.#isOver) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }

  end(): void {
    this.#isOver = true;
    this.#noteEnd();
    this.#wake();
  }
}
