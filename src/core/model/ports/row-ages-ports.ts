import type { Message } from '../message.ts';
import type { Offset } from '../offset.ts';

/** Compares a row with the rows before it, to find rows that iCloud writes again (decision AB6). */
export interface EarlierRows {
  /** Returns the earlier row with the same conversation, sender, date and content; undefined if there is none. */
  twinOf(rowId: number): Pick<Message, 'id' | 'guid'> | undefined;
  /** Reports whether a row up to `upTo` has the row's conversation and sender, and a later date. */
  hasLater(rowId: number, upTo: number): boolean;
}

/** A period during which Postern watched chat.db, in Unix milliseconds. */
export interface Span {
  readonly fromMs: number;
  readonly toMs: number;
}

/**
 * Stores the periods in which Postern watched chat.db, and the ages of rows that were at least a minute old when
 * Postern first saw them. An age counts only time in which chat.db was watched (decision U4).
 */
export interface RowAgeStore {
  /**
   * Stores ages. Key: the row id. Value: the row's age in seconds when Postern first saw it. If a row already has a
   * stored age, that age stays.
   */
  add(ages: ReadonlyMap<number, number>, nowMs: number): void;
  /** Returns how many seconds old a row was when Postern first saw it; undefined if it was younger than a minute. */
  of(rowId: number): number | undefined;
  /** Returns the stored ages of the rows after `after` and up to `upTo`. Key: the row id. Value: the age in seconds. */
  between(after: Offset, upTo: Offset): ReadonlyMap<number, number>;
  spans(): readonly Span[];
  saveSpans(spans: readonly Span[]): void;
}
