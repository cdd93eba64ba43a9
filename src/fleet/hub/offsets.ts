import { encodeStreamOffset, type StreamOffset } from '../../domain/offset.ts';
import { problem } from '../../domain/problems.ts';
import type { EventStore } from './event-store.ts';

/** How far back is gone where a place is not known: events may be repeated, and none is lost. */
const OVERLAP_MS = 600_000;
const HOUR_MS = 3_600_000;
/** Texts that are kept: those of the newest events are asked for again and again. */
const MAX_KEPT = 4096;

/** Offsets as clients keep them (decision N1), and the numbers of hub.db that they mean. */
export class Offsets {
  readonly #store: EventStore;
  readonly #backfillHours: number;
  readonly #texts = new Map<number, string>();
  /** Of the store, when the texts were made. */
  #moved = 0;

  constructor(store: EventStore, backfillHours: number) {
    this.#store = store;
    this.#backfillHours = backfillHours;
  }

  /** "0" where nothing is stored yet. */
  textOf(number: number): string {
    if (this.#texts.size >= MAX_KEPT || this.#moved !== this.#store.moved) this.#texts.clear();
    this.#moved = this.#store.moved;
    const known = this.#texts.get(number);
    if (known !== undefined) return known;
    const event = this.#store.upTo(number);
    const text = event === undefined ? '0' : encodeStreamOffset(event);
    if (number <= this.#store.newest) this.#texts.set(number, text);
    return text;
  }

  /**
   * The number behind which a client goes on that has seen everything up to this offset. Any hub gave it: another one
   * may have seen events in another order after the stream was filled again, and then some are repeated. Throws 410
   * `offset_expired` when something behind it is no longer kept.
   */
  numberOf(offset: StreamOffset): number {
    const store = this.#store;
    const exact = store.numberAt(offset);
    if (exact !== undefined) return exact;
    const oldest = store.oldest();
    const sameMessage = store.numberOf(offset.messageId) ?? Number.POSITIVE_INFINITY;
    const before = store.numberBefore(offset.stream, offset.sequence);
    if (before !== undefined) return Math.min(before, sameMessage);
    if (oldest === undefined) return 0;
    // The one before the first that is kept.
    if (oldest.stream === offset.stream && oldest.sequence === offset.sequence + 1) return oldest.number - 1;
    const fromMs = offset.atMs - OVERLAP_MS;
    if (offset.atMs < oldest.atMs && !this.#isFilledFrom(oldest.stream, offset))
      throw problem('offset_too_old', {}, { extra: { oldest: '0' } });
    return Math.min(store.numberBeforeTime(fromMs), sameMessage);
  }

  /** Whether the stream was made after the offset, and filled again with everything since. */
  #isFilledFrom(stream: string, { stream: before, atMs }: StreamOffset): boolean {
    const madeMs = Date.parse(stream);
    return before !== stream && atMs < madeMs && atMs >= madeMs - this.#backfillHours * HOUR_MS;
  }
}
