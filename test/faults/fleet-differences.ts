import { compare } from './harness.ts';

interface Differences {
  events: number;
  lost: number;
  repeated: number;
  outOfOrder: number;
  unknown: number;
}

/** Differences between the databases and what the stream and each client received. */
export interface FleetDifferences {
  readonly stream: Differences;
  /** The clients that listen. */
  readonly clients: readonly Differences[];
  readonly polling: Differences;
  readonly webhook: Differences;
}

export function noDifferences(): Differences {
  return { events: 0, lost: 0, repeated: 0, outOfOrder: 0, unknown: 0 };
}

/** Adds the differences to `sum`. Compares up to the newest row that arrived: later rows may still be on their way. */
export function addDifferences(sum: Differences, written: readonly number[], arrived: readonly number[]): void {
  const newest = arrived.at(-1) ?? 0;
  const { lost, repeats, outOfOrder, unknown } = compare(
    written.filter((row) => row <= newest),
    arrived,
  );
  sum.events += arrived.length;
  sum.lost += lost.length;
  sum.repeated += repeats;
  sum.outOfOrder += outOfOrder;
  sum.unknown += unknown.length;
}
