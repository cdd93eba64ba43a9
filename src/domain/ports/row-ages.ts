import type { Offset } from '../offset.ts';

/** A period in Unix milliseconds. */
export interface Span {
  readonly fromMs: number;
  readonly toMs: number;
}

/** Stores the ages of rows, and the periods in which chat.db was watched. */
export interface RowAgeStore {
  /** Stores ages in seconds by row id. A row keeps its first one. */
  add(ages: ReadonlyMap<number, number>, nowMs: number): void;
  /** Age in seconds; undefined for a row that was not old at its first sighting. */
  of(rowId: number): number | undefined;
  /** By row id, for rows after `after` up to `upTo`. */
  between(after: Offset, upTo: Offset): ReadonlyMap<number, number>;
  spans(): readonly Span[];
  saveSpans(spans: readonly Span[]): void;
}
