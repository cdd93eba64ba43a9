import type { LogEntry } from '../model/event.ts';
import { isAfter, type Offset, rowOffset } from '../model/offset.ts';
import type { FeedBatch, FeedReader } from '../model/ports/feed-ports.ts';
import type { Clock } from '../model/ports/host-ports.ts';

/** Number of events in the ring (decision C7). */
const CAPACITY = 1024;

/** A reader of the channel with its own position. */
export interface Member {
  onMore(): void;
  isCaughtUp(): boolean;
  /**
   * True if the publisher waits briefly for this member after each batch, unless the member is behind (decision C7).
   */
  readonly hasBackpressure: boolean;
  /** Set by the channel while the publisher waits for this member. */
  isPending: boolean;
}

/**
 * A broadcast channel of fixed capacity (decision C7): a ring of the newest events, which members read at their own
 * positions. If a live member falls behind by more than the capacity, it loses the oldest events. A resumed member
 * reads lost events from chat.db instead (`feed.ts`).
 */
export class Channel {
  readonly #capacity: number;
  readonly #ring: (LogEntry | undefined)[];
  /** Sequence number of the next event. An event is stored at its sequence number modulo the capacity. */
  #next = 0;
  /** Sequence number of the first event since the log last started over. */
  #start = 0;
  /** Every published event after this offset is still in the ring. */
  #floor = rowOffset(0);
  #last = rowOffset(0);
  #base = rowOffset(0);
  #generation = 0;
  readonly #members = new Set<Member>();
  /** Number of members that the publisher waits for. */
  #pending = 0;
  #onDrained: (() => void) | undefined;

  constructor(capacity = CAPACITY) {
    this.#capacity = capacity;
    this.#ring = new Array<LogEntry | undefined>(capacity).fill(undefined);
  }

  /** Offset up to which everything is published, including rows without events. */
  get last(): Offset {
    return this.#last;
  }

  /** Number of events published since this channel was created. */
  get published(): number {
    return this.#next;
  }

  /** The offset passed to the last `restart`. This channel publishes the events after that offset. */
  get base(): Offset {
    return this.#base;
  }

  /** Number of calls of `restart`. A reader that finds a new number must start over. */
  get generation(): number {
    return this.#generation;
  }

  /**
   * Starts publishing after `offset`. At launch, the caller passes the stored offset. At the very first start, and
   * after chat.db was replaced, the caller passes the offset of the newest row (decisions C4, C5).
   */
  restart(offset: Offset): void {
    this.#start = this.#next;
    this.#floor = offset;
    this.#last = offset;
    this.#base = offset;
    this.#generation += 1;
    this.wake();
  }

  /** Adds events in log order and notifies every member. */
  publish(entries: readonly LogEntry[]): void {
    for (const member of this.#members) {
      if (!member.hasBackpressure || !member.isCaughtUp()) continue;
      member.isPending = true;
      this.#pending += 1;
    }
    for (const entry of entries) {
      const slot = this.#next % this.#capacity;
      const evicted = this.#ring[slot];
      if (evicted !== undefined && this.#next - this.#capacity >= this.#start) this.#floor = evicted.offset;
      this.#ring[slot] = entry;
      this.#next += 1;
      this.#last = entry.offset;
    }
    this.wake();
  }

  /** Marks everything up to `offset` as published, including rows without events. */
  skipTo(offset: Offset): void {
    if (isAfter(offset, this.#last)) this.#last = offset;
  }

  /** Notifies every member that there may be more. */
  wake(): void {
    for (const member of this.#members) member.onMore();
  }

  join(member: Member): void {
    this.#members.add(member);
  }

  leave(member: Member): void {
    this.#members.delete(member);
    this.#release(member);
  }

  /** Records that a member took entries. Once the member is caught up, the publisher no longer waits for it. */
  noteTaken(member: Member): void {
    if (member.isPending && member.isCaughtUp()) this.#release(member);
  }

  /**
   * Waits up to `atMostMs` until each member that was caught up before the latest batch has taken that batch. A member
   * that misses the deadline is ignored until it has caught up again.
   */
  async drained(clock: Clock, atMostMs: number): Promise<void> {
    if (this.#pending === 0) return;
    await new Promise<void>((resolve) => {
      const cancel = clock.after(atMostMs, resolve);
      this.#onDrained = () => {
        cancel();
        resolve();
      };
    });
    this.#onDrained = undefined;
    for (const member of this.#members) member.isPending = false;
    this.#pending = 0;
  }

  /** Current number of readers. */
  get members(): number {
    return this.#members.size;
  }

  /** Returns events after an offset, at most `limit`; undefined if the ring no longer holds all of them. */
  after(offset: Offset, limit: number): LogEntry[] | undefined {
    return isAfter(this.#floor, offset) ? undefined : this.#slice(this.#firstAfter(offset), limit);
  }

  /**
   * Like `after`, for a channel that contains changes. Also returns undefined if the channel was never at this offset,
   * because the ring may then contain events that the reader has already received.
   */
  afterEntry(offset: Offset, limit: number): LogEntry[] | undefined {
    if (isAfter(this.#floor, offset)) return undefined;
    const first = this.#firstAfter(offset);
    const before = first === this.#first() ? this.#floor : this.#at(first - 1).offset;
    return before.rowId === offset.rowId && before.change === offset.change ? this.#slice(first, limit) : undefined;
  }

  /** Returns the sequence number of the first event after an offset. */
  #firstAfter(offset: Offset): number {
    let low = this.#first();
    let high = this.#next;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (isAfter(this.#at(middle).offset, offset)) high = middle;
      else low = middle + 1;
    }
    return low;
  }

  /** Returns the sequence number of the ring's oldest event in the current log. */
  #first(): number {
    return Math.max(this.#start, this.#oldest());
  }

  /** Returns a reader that begins now and loses the oldest events if it is too slow. */
  live(onMore: () => void): FeedReader {
    const reader = new LiveReader(this, onMore);
    this.join(reader);
    return reader;
  }

  /**
   * Returns at most `limit` events from a sequence number on. `missed` is the number of these events that the ring has
   * already overwritten.
   */
  from(sequence: number, limit: number): { readonly entries: LogEntry[]; readonly missed: number } {
    const missed = Math.max(0, this.#oldest() - sequence);
    return { entries: this.#slice(sequence + missed, limit), missed };
  }

  #release(member: Member): void {
    if (!member.isPending) return;
    member.isPending = false;
    this.#pending -= 1;
    if (this.#pending === 0) this.#onDrained?.();
  }

  #oldest(): number {
    return Math.max(0, this.#next - this.#capacity);
  }

  #at(sequence: number): LogEntry {
    const entry = this.#ring[sequence % this.#capacity];
    if (entry === undefined) throw new Error(`the channel holds no event number ${sequence}`);
    return entry;
  }

  #slice(from: number, limit: number): LogEntry[] {
    const entries: LogEntry[] = [];
    for (let sequence = from; sequence < this.#next && entries.length < limit; sequence += 1) {
      entries.push(this.#at(sequence));
    }
    return entries;
  }
}

class LiveReader implements Member, FeedReader {
  readonly hasBackpressure = true;
  isPending = false;
  readonly onMore: () => void;
  readonly #channel: Channel;
  /** Sequence number of the next event to take. */
  #next: number;

  constructor(channel: Channel, onMore: () => void) {
    this.#channel = channel;
    this.#next = channel.published;
    this.onMore = onMore;
  }

  take(limit: number): FeedBatch {
    const channel = this.#channel;
    const { entries, missed } = channel.from(this.#next, limit);
    this.#next += missed + entries.length;
    channel.noteTaken(this);
    return { entries, missed, upTo: entries.at(-1)?.offset ?? channel.last };
  }

  isCaughtUp(): boolean {
    return this.#next === this.#channel.published;
  }

  generation(): number {
    return this.#channel.generation;
  }

  close(): void {
    this.#channel.leave(this);
  }
}
