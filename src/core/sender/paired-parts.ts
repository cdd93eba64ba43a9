import type { Clock } from '../model/ports/host-ports.ts';
import type { OwnRow } from '../model/ports/sending-ports.ts';
import { contentsOfRow, isRowOf, nowOf, type Waiting } from './row-owners.ts';

/**
 * A part whose row was found is watched for this long after its run. A second row with its content in that time may be
 * the part's, too. Longer than the time for which Messages leaves an outgoing row marked as incoming (decision U1).
 */
const WATCHED_MS = 1000;
/** Maximum number of rows remembered as found: far more than can appear while a send waits for its row. */
const TAKEN_KEPT = 1000;

interface Paired {
  readonly part: Waiting;
  readonly givenAtMs: number;
}

/** The parts whose row was found a moment ago, and the rows that are taken. */
export class PairedParts {
  readonly #clock: Clock;
  readonly #taken = new Set<number>();
  #watched: readonly Paired[] = [];

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  add(part: Waiting, rowId: number): void {
    this.#watched = [...this.#watched, { part, givenAtMs: this.#clock.monotonic() }];
    this.#taken.add(rowId);
    for (const oldest of this.#taken) {
      if (this.#taken.size <= TAKEN_KEPT) break;
      this.#taken.delete(oldest);
    }
  }

  isTaken(rowId: number): boolean {
    return this.#taken.has(rowId);
  }

  /** Returns the parts whose run has not ended, or whose run and pairing ended within the last `WATCHED_MS`. */
  watched(): readonly Waiting[] {
    const nowMs = this.#clock.monotonic();
    this.#watched = this.#watched.filter(
      ({ part, givenAtMs }) => Math.max(givenAtMs, part.endedAtMs ?? nowMs) >= nowMs - WATCHED_MS,
    );
    return this.#watched.map(({ part }) => part);
  }

  /** Stops watching the parts that may have written this second row, and returns them. */
  takeDoubtful(row: OwnRow): readonly Waiting[] {
    const contents = contentsOfRow(row);
    const now = nowOf(this.#clock);
    const doubtful = this.watched().filter((part) => isRowOf(part, row, contents, now));
    this.#watched = this.#watched.filter(({ part }) => !doubtful.includes(part));
    return doubtful;
  }
}
