import type { BackgroundPrintReader, PrintReader, RowOrigin } from '../../domain/ports/changes.ts';

/** Number of rows read directly, without the reader thread. */
const MAX_AT_ONCE = 100;

export interface OriginReaders {
  readonly prints: Pick<PrintReader, 'origins'>;
  readonly background: Pick<BackgroundPrintReader, 'origins'>;
}

/** guid and conversation of the newest rows, needed to report their removal. */
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

  /** Reads the unknown rows of a range, and drops older ones beyond `most`. */
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
        // The absence of chat.db is reported elsewhere; the next pass reads these rows.
        () => {
          if (rows === this.#rows) this.#upTo = Math.min(this.#upTo, before);
        },
      );
    }
    this.#upTo = upTo;
    if (rows.size <= most) return;
    for (const rowId of rows.keys()) if (rowId < from) rows.delete(rowId);
  }

  /** Discards what was read: its rows are meaningless now. */
  forget(): void {
    this.#rows = new Map();
    this.#upTo = 0;
  }
}
