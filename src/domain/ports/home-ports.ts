import type { ClientLines } from '../client-lines.ts';
import type { Scope } from '../key.ts';
import type { Overview, ShownSetting } from '../overview.ts';
import type { StatisticKind, StatisticSeries, StatisticSpan } from '../statistics.ts';

/** One stored count: the occurrences of `name` in one span. */
export interface StatisticCount {
  readonly kind: StatisticKind;
  /** The id of a webhook; empty for events and sends. */
  readonly subject: string;
  readonly span: StatisticSpan;
  /** Beginning of the span. */
  readonly atMs: number;
  readonly name: string;
  readonly count: number;
}

/** Stores the counters (decision Z1). */
export interface StatisticStore {
  /** When counting began, and when somebody last asked for the counts. Undefined while nothing is counted. */
  times(): { readonly sinceMs: number; readonly askedMs: number } | undefined;
  /** Records that somebody asked for the counts. Begins counting if it has not begun. */
  noteAsked(nowMs: number): void;
  /** Ends counting and deletes all counts. */
  end(): void;
  /** Adds to the stored counts. Removes counts that are older than the `keptFrom` of their span. */
  add(counts: readonly StatisticCount[], keptFrom: Readonly<Record<StatisticSpan, number>>): void;
  /** Returns the counts of spans that begin at `fromMs` or later. */
  read(kind: StatisticKind, span: StatisticSpan, fromMs: number): readonly StatisticCount[];
}

/** The owner's home page, counters and settings. */
export interface Home {
  overview(): Promise<Overview>;
  statistics(kind: StatisticKind, by: StatisticSpan, last: number): Promise<StatisticSeries>;
  settings(): Promise<readonly ShownSetting[]>;
  /** Returns the set-up lines for each client that this key suits. `url` is the service's address. */
  clientsOf(key: { readonly key: string; readonly scopes: readonly Scope[] }, url: string): readonly ClientLines[];
}
