/** Rows read in one turn of the event loop. What needs more goes on in the next: it may take long, but blocks nobody. */
const ROWS_A_TURN = 2000;

/** Said by work that is not done when its turn is over. */
export const NOT_YET = Symbol('not yet');
export type NotYet = typeof NOT_YET;

/** How much may still be read in this turn. */
export class Turn {
  #rowsLeft: number;

  constructor(rows = ROWS_A_TURN) {
    this.#rowsLeft = rows;
  }

  /** For those who cannot wait. */
  static withoutEnd(): Turn {
    return new Turn(Number.MAX_SAFE_INTEGER);
  }

  get rowsLeft(): number {
    return this.#rowsLeft;
  }

  get isOver(): boolean {
    return this.#rowsLeft === 0;
  }

  /** A row looked up by itself is worth some that are passed over. */
  spend(rows: number): void {
    this.#rowsLeft = Math.max(0, this.#rowsLeft - rows);
  }
}
