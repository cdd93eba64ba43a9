import type { Offset } from '../offset.ts';

/** From one instant to another, Unix milliseconds. */
export interface Span {
  readonly fromMs: number;
  readonly toMs: number;
}

/** Where the ages of rows are kept, and the time in which chat.db was watched. */
export interface RowAgeStore {
  /** Ages in seconds by row id. A row keeps its first one. */
  add(ages: ReadonlyMap<number, number>, nowMs: number): void;
  /** Seconds; undefined for a row that was not old at its first sighting. */
  of(rowId: number): number | undefined;
  /** By row id, for the rows after `after` up to `upTo`. */
  between(after: Offset, upTo: Offset): ReadonlyMap<number, number>;
  spans(): readonly Span[];
  saveSpans(spans: readonly Span[]): void;
}
