import { HOUR_MS } from '../../../core/model/durations.ts';
import type { AppError } from '../../../core/model/errors.ts';
import { encodeStreamOffset, type Offset, rowOffset, type StreamOffset } from '../../../core/model/offset.ts';
import { problem } from '../../../core/model/problems.ts';
import type { EventStore } from './event-store.ts';
import type { StoredEvent } from './stored-event.ts';

/**
 * Overlap in milliseconds. If this hub does not know a client's offset, the client receives all events that are newer
 * than the offset's time minus this overlap. Repeated events are better than lost ones.
 */
const OVERLAP_MS = 600_000;
/** Maximum number of offsets whose text is cached. The texts of the newest events are requested constantly. */
const MAX_KEPT = 4096;

/** Translates between the offsets of clients (decision N1) and the numbers of hub.db. */
export class Offsets {
  readonly #store: EventStore;
  readonly #backfillHours: number;
  readonly #texts = new Map<number, string>();

  constructor(store: EventStore, backfillHours: number) {
    this.#store = store;
    this.#backfillHours = backfillHours;
  }

  /**
   * Returns the text of the offset at an event's number. If the stream has the event more than once, the text names its
   * first place, because only first places follow the order of numbers. If no event up to the number is stored, returns
   * the newest of `others`; "0" if there are none.
   */
  textOf(number: number, others?: StreamOffset['others']): string {
    if (others !== undefined) return this.#encoded(number, others);
    const known = this.#texts.get(number);
    if (known !== undefined) return known;
    const text = this.#encoded(number);
    if (number <= this.#store.newest) this.#keep(number, text);
    return text;
  }

  #encoded(number: number, others?: StreamOffset['others']): string {
    const { index, copy } = this.#store;
    const event = index.upTo(number);
    if (event !== undefined) return encodeStreamOffset({ ...event, copy, others });
    // The client has received nothing from this hub, so it keeps its offset from another one.
    const [newest, ...older] = others ?? [];
    return newest === undefined ? '0' : encodeStreamOffset({ ...newest, others: older });
  }

  /** Prepares the text of an event that is about to be served, so that `textOf` need not look the event up. */
  prepare(event: StoredEvent): void {
    if (!this.#texts.has(event.number)) {
      this.#keep(event.number, encodeStreamOffset({ ...event, copy: this.#store.copy }));
    }
  }

  #keep(number: number, text: string): void {
    if (this.#texts.size >= MAX_KEPT) this.#texts.clear();
    this.#texts.set(number, text);
  }

  /** Returns the position after which a client with this offset continues. Throws as `numberOf` does. */
  positionOf(offset: StreamOffset, changes: boolean): Offset {
    const { copy, index } = this.#store;
    const number = this.numberOf(offset, changes);
    if (offset.others === undefined && this.#store.numberAt(offset) === number) return rowOffset(number);
    // This hub, or the one that issued the offset, may repeat events. The client's next offsets therefore also contain
    // its offsets from other hubs: if the client returns to one of those hubs, that hub need not repeat events. A hub
    // repeats only events that it keeps, and those that Macs republished.
    const sinceMs = (index.oldest()?.atMs ?? 0) - (this.#backfillHours + 1) * HOUR_MS;
    const others = [offset, ...(offset.others ?? [])].filter(
      (one) => one.copy !== undefined && one.copy !== copy && one.atMs >= sinceMs,
    );
    return others.length === 0 ? rowOffset(number) : { ...rowOffset(number), others };
  }

  /**
   * Returns the number after which a client with this offset continues. Another hub may have seen the events in another
   * order, so its offsets may repeat events, but never skip one. Throws 410 `offset_expired` if events after the offset
   * are no longer kept.
   */
  numberOf(offset: StreamOffset, changes = false): number {
    const { index, copy } = this.#store;
    const { stream, messageId, atMs, sequence } = offset;
    const floor = (changes ? offset.changeFloor : undefined) ?? offset.floor;
    const same = this.#store.numberAt(offset);
    if (same !== undefined && offset.copy === copy) return same;
    // The client has already received everything up to here from this hub.
    const own = offset.others?.find((other) => other.copy === copy);
    const reached = own && this.#store.numberAt(own);
    const oldest = index.oldest();
    const completeUpTo = floor ?? sequence;
    const isCut = oldest?.stream === stream && oldest.sequence > completeUpTo + 1;
    if (floor !== undefined && isCut && reached === undefined) throw tooOld();
    if (same !== undefined) {
      // Compares times as well as sequences, because a restored broker reuses sequences for later events.
      const complete = index.before(index.firstBehind(stream, completeUpTo), index.firstSince(atMs + 1));
      return Math.max(reached ?? 0, Math.min(same, complete ?? same));
    }
    if (reached === undefined) {
      if (oldest === undefined) return 0;
      // The offset is just before the oldest event.
      if (oldest.stream === stream && oldest.sequence === completeUpTo + 1) return oldest.number - 1;
      if (atMs < oldest.atMs && !this.#isFilledFrom(oldest.stream, offset)) throw tooOld();
    }
    // The sequence proves nothing, because a broker restored from an old copy may have stored new events at lower
    // sequences.
    const since = index.firstSince(atMs - OVERLAP_MS);
    const missing = floor === undefined ? undefined : index.firstBehind(stream, floor);
    // If the hub that issued the offset read the stream only after the stream had lost events, that hub may lack them.
    const lost = index.firstLost(this.#store.position?.stream ?? stream);
    // The client may lack the rows of a gap that was recorded after its offset was issued. The client continues before
    // the gap, so that it learns that rows are missing.
    const gap = index.firstGapSince(atMs, changes);
    const complete = index.before(since, missing, lost, gap) ?? this.#store.newest;
    return Math.max(reached ?? 0, Math.min(complete, index.numberOf(messageId) ?? complete));
  }

  /** Throws 410 `offset_expired` if rows, or with `changes` also changes, after the offset are missing for good. */
  assertComplete(offset: StreamOffset, changes: boolean): void {
    const { index, newest } = this.#store;
    if (index.hasGap(this.numberOf(offset, changes), newest, changes)) {
      throw problem('events_missing', {}, { extra: { latest: this.textOf(newest) } });
    }
  }

  /**
   * Reports whether this stream has everything after the offset, because the Macs have republished it. It has if it was
   * created after the offset was issued, but at most `backfillHours` later.
   */
  #isFilledFrom(stream: string, { stream: before, atMs }: StreamOffset): boolean {
    const madeMs = Date.parse(stream);
    return before !== stream && atMs < madeMs && atMs >= madeMs - this.#backfillHours * HOUR_MS;
  }
}

function tooOld(): AppError {
  return problem('offset_too_old', {}, { extra: { oldest: '0' } });
}
