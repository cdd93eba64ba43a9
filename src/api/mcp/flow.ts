/** Bytes that a stream may be ahead of its client. */
const MAX_AHEAD = 256 * 1024;

/** Lets the writer of a streamed answer wait for its reader: the protocol's package takes any amount at once. */
export class Flow {
  #ahead = 0;
  #isOver = false;
  #wake = (): void => {};
  #noteEnd = (): void => {};
  /** Resolves once nobody reads any more. */
  readonly ended = new Promise<void>((resolve) => {
    this.#noteEnd = resolve;
  });

  noteSent(bytes: number): void {
    this.#ahead += bytes;
  }

  noteTaken(bytes: number): void {
    // Frames make what is taken larger than what was sent.
    this.#ahead = Math.max(0, this.#ahead - bytes);
    this.#wake();
  }

  /** Resolves once there is room for more, or nobody reads any more. */
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
