/** Lets a thread share the row that it decodes. Passed to the thread when it starts. */
export interface SharedRow {
  /** Two numbers of 64 bits: the row id, or 0 for none, and the number of rows begun so far. */
  readonly memory: SharedArrayBuffer;
  /** Rows whose content must not be decoded again. */
  readonly leftOut: readonly number[];
}

const ROW = 0;
const COUNT = 1;

/** Notes which row's content this thread decodes, where the thread that started it can see it. */
export class DecodedRowNote {
  readonly #cells: BigInt64Array;
  readonly #leftOut: ReadonlySet<number>;

  constructor({ memory, leftOut }: SharedRow) {
    this.#cells = new BigInt64Array(memory);
    this.#leftOut = new Set(leftOut);
  }

  /** Reports whether the row's content is left out, because a thread once did not finish decoding it. */
  isLeftOut(rowId: number): boolean {
    return this.#leftOut.has(rowId);
  }

  begin(rowId: number): void {
    Atomics.add(this.#cells, COUNT, 1n);
    Atomics.store(this.#cells, ROW, BigInt(rowId));
  }

  end(): void {
    Atomics.store(this.#cells, ROW, 0n);
  }
}

/** Sees which row another thread decodes, and for how long. Remembers the rows that no thread could finish. */
export class WatchedRow {
  readonly #memory = new SharedArrayBuffer(2 * BigInt64Array.BYTES_PER_ELEMENT);
  readonly #cells = new BigInt64Array(this.#memory);
  readonly #leftOut = new Set<number>();
  #seen = 0n;
  #looks = 0;

  /** Returns the value to pass to a new thread. No other thread may still use the memory. */
  share(): SharedRow {
    Atomics.store(this.#cells, ROW, 0n);
    return { memory: this.#memory, leftOut: [...this.#leftOut] };
  }

  /** Returns the number of times in a row that this method found the same row being decoded. */
  look(): number {
    const count = Atomics.load(this.#cells, COUNT);
    const isSame = count === this.#seen && Atomics.load(this.#cells, ROW) !== 0n;
    this.#seen = count;
    this.#looks = isSame ? this.#looks + 1 : 0;
    return this.#looks;
  }

  /** Leaves out the row that an ended thread was decoding, and returns it; undefined if it was decoding none. */
  leaveOut(): number | undefined {
    const rowId = Number(Atomics.load(this.#cells, ROW));
    if (rowId === 0) return undefined;
    this.#leftOut.add(rowId);
    return rowId;
  }
}
