import type { BackgroundPrintReader, PrintReader, RowOrigin } from '../../domain/ports/changes.ts';

/** Rows read at once without the reader thread. */
const MAX_AT_ONCE = 100;

export interface OriginReaders {
  readonly prints: Pick<PrintReader, 'origins'>;
  readonly background: Pick<BackgroundPrintReader, 'origins'>;
}

/** guid and conversation of the newest rows, so that they can be told when the rows are gone. */
export class RecentOrigins {
  readonly #readers: OriginReaders;
  #rows = new Map<number, RowOrigin>();
  /** Rows up to here were read, or are being read. */
  #upTo = 0;

  constructor(readers: OriginReaders) {
    this.#readers = readers;
  }

  get rows(): ReadonlyMap<number, RowOrigin> {
    return this.#rows;
  }

  /** Reads those of a range that are not known yet, and forgets older ones when they are more than `most`. */
  note(from: number, upTo: number, most: number): void {
    const { prints, background } = this.#readers;
    const rows = this.#rows;
    const first = Math.max(from, this.#upTo + 1);
    if (first > upTo) return;
    if (upTo - first < MAX_AT_ONCE) {
      for (const row of prints.origins(first, upTo)) rows.set(row.rowId, row);
    } else {
      const before = this.#upTo;
      background.origins(first, upTo).then(
        (read) => {
          for (const row of read) rows.set(row.rowId, row);
        },
        // chat.db being away is told elsewhere; the next pass reads them.
        () => {
          if (rows === this.#rows) this.#upTo = Math.min(this.#upTo, before);
        },
      );
    }
    this.#upTo = upTo;
    if (rows.size <= most) return;
    for (const rowId of rows.keys()) if (rowId < from) rows.delete(rowId);
  }

  /** What was read is of rows that mean nothing any more. */
  forget(): void {
    this.#rows = new Map();
    this.#upTo = 0;
  }
}
