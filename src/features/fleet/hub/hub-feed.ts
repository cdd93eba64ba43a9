import type { Channel, Member } from '../../../core/log/channel.ts';
import { isRowEvent, type LogEntry } from '../../../core/model/event.ts';
import { type Narrowing, wantedBy } from '../../../core/model/narrowing.ts';
import { type ClientOffset, isAfter, latest, type Offset } from '../../../core/model/offset.ts';
import type {
  EventFeed,
  FeedOptions,
  FeedPage,
  FeedReader,
  ResumeOptions,
  SeenPage,
} from '../../../core/model/ports/feed-ports.ts';
import { fleetProblem } from '../problems.ts';
import { brokerAway } from '../protocol/connection.ts';
import { claimOf, isPlace, isSameMoment, type Place, placeOf, placeText, timeText } from './place.ts';
import type { StreamEntry } from './stream-entry.ts';
import type { StreamPages } from './stream-pages.ts';
import type { StreamTail } from './stream-tail.ts';

export interface HubFeedParts {
  readonly tail: StreamTail;
  readonly pages: StreamPages;
}

/** The events of all Macs, or of one, in the order of the stream. Rows and changes share its places. */
export class HubFeed implements EventFeed {
  readonly #parts: HubFeedParts;
  readonly #member: string | undefined;

  constructor(parts: HubFeedParts, member?: string) {
    this.#parts = parts;
    this.#member = member;
  }

  /** Returns the feed of one Mac's events. */
  of(member: string): HubFeed {
    return new HubFeed(this.#parts, member);
  }

  lastPublished(): Place {
    return this.#parts.tail.last;
  }

  changeGeneration(): number {
    return this.#channel.generation;
  }

  offsetText(offset: Offset): string {
    return placeText(placeOf(offset));
  }

  async resolve(offset: ClientOffset | undefined): Promise<Place> {
    const { tail, pages } = this.#parts;
    const { last } = tail;
    if (offset === undefined) return last;
    const claim = claimOf(offset);
    if (claim === undefined) throw fleetProblem('offset_of_a_mac');
    try {
      const { event, atMs } = claim;
      if (event === undefined) return atMs === 0 ? { ...last, rowId: 0, atMs } : await pages.before(atMs);
      const place = { ...last, ...event, atMs };
      if (place.stream !== last.stream || !(await this.#isThere(place, last))) throw this.#expired(atMs);
      return place;
    } catch (error) {
      if (!tail.isFilled) throw brokerAway();
      throw error;
    }
  }

  admits(): boolean {
    return true;
  }

  wanted(narrowing: Narrowing) {
    return wantedBy(narrowing, false);
  }

  live(onMore: () => void, options?: FeedOptions): FeedReader {
    return this.resume(this.#channel.last, onMore, options);
  }

  /** Reads every event after a place: from the broker until the ring has what follows, then from the ring. */
  resume(offset: Offset, onMore: () => void, { changes = false }: ResumeOptions = {}): FeedReader {
    let place = placeOf(offset);
    /** The page that was read from the broker and not taken yet, or why it could not be read. */
    let read: Promise<void> | FeedPage | Error | undefined;
    const channel = this.#channel;
    const { generation } = place;
    let isClosed = false;
    const load = async (limit: number): Promise<void> => {
      read = await this.#parts.pages.after(place, limit, this.#member).catch((error: Error) => error);
      if (!isClosed) onMore();
    };
    const member: Member = {
      onMore,
      hasBackpressure: false,
      isPending: false,
      // Also true while the broker is asked: there is nothing to take then.
      isCaughtUp: () => read instanceof Promise || (read === undefined && !isAfter(channel.last, place)),
    };
    channel.join(member);
    return {
      take: (limit) => {
        const nothing = { entries: [], upTo: place, missed: 0 };
        if (limit === 0) return nothing;
        this.#assertSame(generation);
        const page = read ?? inMemory(channel, place, limit);
        if (page === undefined) read = load(limit);
        if (page === undefined || page instanceof Promise) return nothing;
        read = undefined;
        if (page instanceof Error) throw page;
        const entries = page.entries.slice(0, limit);
        place = placeOf(entries.length < page.entries.length ? (entries.at(-1)?.offset ?? place) : page.upTo);
        return { entries: entries.filter((entry) => this.#isFor(entry, changes)), upTo: place, missed: 0 };
      },
      isCaughtUp: () => member.isCaughtUp(),
      generation: () => channel.generation,
      close: () => {
        isClosed = true;
        channel.leave(member);
      },
    };
  }

  async page(after: Offset, limit: number, { changes = false }: FeedOptions = {}): Promise<SeenPage> {
    const place = placeOf(after);
    const read = inMemory(this.#channel, place, limit) ?? (await this.#parts.pages.after(place, limit, this.#member));
    // The client asks again with its own offset, and is then told where to continue.
    if (place.generation !== this.#channel.generation) throw brokerAway();
    const entries = read.entries.filter((entry) => this.#isFor(entry, changes));
    return { entries, upTo: read.upTo, looked: Math.max(read.entries.length, 1) };
  }

  get #channel(): Channel {
    return this.#parts.tail.channel;
  }

  #isFor(entry: LogEntry, changes: boolean): boolean {
    return (
      (changes || isRowEvent(entry.event)) &&
      (this.#member === undefined || (entry as StreamEntry).member === this.#member)
    );
  }

  /** Throws `offset_expired` if the stream is not the one that a place was in: the reader must ask again. */
  #assertSame(generation: number): void {
    if (generation !== this.#channel.generation) throw fleetProblem('stream_changed');
  }

  /** Returns whether everything up to this place can have been seen, and nothing after it is lost. */
  async #isThere(place: Place, last: Place): Promise<boolean> {
    if (place.rowId === last.rowId) return isSameMoment(place.atMs, last.atMs);
    const { tail } = this.#parts;
    const [next] = this.#channel.after({ rowId: place.rowId - 1, change: 0 }, 1) ?? [];
    if (next !== undefined && next.offset.rowId === place.rowId && isPlace(next.offset)) {
      return isSameMoment(next.offset.atMs, place.atMs);
    }
    if (place.rowId > 0 && (await tail.isStill(place))) return true;
    const { state } = await tail.ask();
    // The event itself has expired. If the one after it is still there, nothing is lost.
    return state.first_seq === place.rowId + 1 && new Date(state.first_ts).getTime() >= place.atMs;
  }

  /** The problem of an offset that does not hold any more, with the offsets from which a client can continue. */
  #expired(atMs: number): Error {
    const extra = { resume: timeText(atMs), oldest: '0', latest: placeText(this.#parts.tail.last) };
    return fleetProblem('offset_expired', {}, { extra });
  }
}

/** Returns what follows a place, as far as it is in memory; undefined if the broker must be asked. */
function inMemory(channel: Channel, place: Place, limit: number): FeedPage | undefined {
  const entries = channel.after(place, limit);
  return entries && { entries, upTo: entries.at(-1)?.offset ?? latest(place, channel.last) };
}
