import type { Offset } from '../offset.ts';

/** A period in Unix milliseconds. */
export interface Span {
  readonly fromMs: number;
  readonly toMs: number;
}

/** Stores the age of each late row when it was first seen, and the periods in which chat.db was watched. */
export interface RowAgeStore {
  /** Stores ages in seconds by row id. A row keeps its first stored age. */
  add(ages: ReadonlyMap<number, number>, nowMs: number): void;
  /** Returns a row's age in seconds when it was first seen; undefined if the row was not late. */
  of(rowId: number): number | undefined;
  /** Returns the ages by row id, for rows after `after` and up to `upTo`. */
  between(after: Offset, upTo: Offset): ReadonlyMap<number, number>;
  spans(): readonly Span[];
  saveSpans(spans: readonly Span[]): void;
}
