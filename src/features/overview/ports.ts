import type { StatisticKind, StatisticSpan } from '../../client/overview-types.ts';

/** One stored count: how often `name` occurred for `subject` in the span of time that begins at `atMs`. */
export interface StatisticCount {
  readonly kind: StatisticKind;
  /** The id of the webhook that the count is about; "" for counts of events and sends. */
  readonly subject: string;
  readonly span: StatisticSpan;
  readonly atMs: number;
  readonly name: string;
  readonly count: number;
}

/** Stores the counters (decision Z1). */
export interface StatisticStore {
  /** Returns when counting began. Begins it, at `nowMs`, at the first call of all. */
  begin(nowMs: number): number;
  /** Returns the time from which events are complete, once past events are counted too; before, undefined. */
  eventsFrom(): number | undefined;
  /** Adds the counts of past events, after which events are complete from `fromMs` on. Does so once. */
  addPast(counts: readonly StatisticCount[], fromMs: number): void;
  /**
   * Adds to the stored counts. `keptFrom` is a time in Unix milliseconds for each span: counts of that span with an
   * earlier `atMs` are removed.
   */
  add(counts: readonly StatisticCount[], keptFrom: Readonly<Record<StatisticSpan, number>>): void;
  /** Returns the counts of spans that begin at `fromMs` or later. */
  read(kind: StatisticKind, span: StatisticSpan, fromMs: number): readonly StatisticCount[];
}
