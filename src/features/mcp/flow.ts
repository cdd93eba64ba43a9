/** Number of unread bytes above which the writer of a stream waits for its client. */
const MAX_AHEAD = 256 * 1024;

/**
 * Makes the writer of a streamed answer wait until the client has read most of the bytes sent so far. Without this
 * wait, the protocol's package would buffer any number of bytes.
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
    // `#ahead` stops at 0, because `bytes` includes the framing around notifications, which `noteSent` does not count.
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
