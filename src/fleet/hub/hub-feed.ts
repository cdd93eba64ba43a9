import { type Narrowing, wantedBy } from '../../domain/narrowing.ts';
import { type ClientOffset, type Offset, rowOffset, type StreamOffset } from '../../domain/offset.ts';
import type {
  ConsumerTask,
  EventConsumer,
  EventFeed,
  FeedOptions,
  FeedReader,
  ResumeOptions,
  SeenPage,
} from '../../domain/ports/feed-ports.ts';
import { problem } from '../../domain/problems.ts';
import { GENERATION } from './event-reader.ts';
import type { EventStore } from './event-store.ts';
import type { Offsets } from './offsets.ts';

/** The feed over hub.db, with offsets of the stream in place of row ids (decision N1) and no changes (decision N2). */
export class HubFeed implements EventFeed {
  readonly #feed: EventFeed;
  readonly #offsets: Offsets;
  readonly #store: EventStore;

  constructor(feed: EventFeed, offsets: Offsets, store: EventStore) {
    this.#feed = feed;
    this.#offsets = offsets;
    this.#store = store;
  }

  lastPublished(): Offset {
    return this.#feed.lastPublished();
  }

  changeGeneration(): number {
    return GENERATION;
  }

  offsetText({ rowId }: Offset): string {
    return this.#offsets.textOf(rowId);
  }

  resolve(offset: ClientOffset | undefined, { changes = false }: FeedOptions = {}): Offset {
    if (changes) throw problem('not_at_a_hub');
    if (offset === undefined) return this.lastPublished();
    if (isStreamOffset(offset)) return rowOffset(this.#offsets.numberOf(offset));
    if (offset.rowId !== 0 || 'generation' in offset) throw problem('offset_of_a_mac');
    return rowOffset(0);
  }

  admits(): boolean {
    return true;
  }

  wanted(narrowing: Narrowing): undefined {
    if (wantedBy(narrowing, false) !== undefined) throw problem('not_at_a_hub');
  }

  live(onMore: () => void): FeedReader {
    return this.#complete(this.#feed.live(onMore), this.lastPublished());
  }

  resume(offset: Offset, onMore: () => void, { backpressure = false }: ResumeOptions = {}): FeedReader {
    return this.#complete(this.#feed.resume(offset, onMore, { backpressure }), offset);
  }

  consume<Outcome>(task: ConsumerTask<Outcome>): EventConsumer {
    return this.#feed.consume(task);
  }

  page(after: Offset, limit: number): SeenPage {
    return this.#feed.page(after, limit);
  }

  /** Wraps a reader so that it throws `offset_expired` instead of passing rows that are missing for good. */
  #complete(reader: FeedReader, start: Offset): FeedReader {
    let { rowId } = start;
    return {
      take: (limit) => {
        const batch = reader.take(limit);
        // This call only counts missed events, and may follow the end of a client.
        if (limit === 0) return batch;
        if (this.#store.index.hasGap(rowId, batch.upTo.rowId)) throw problem('events_missing');
        rowId = batch.upTo.rowId;
        return batch;
      },
      isCaughtUp: () => reader.isCaughtUp(),
      generation: () => reader.generation(),
      close: () => reader.close(),
    };
  }
}

export function isStreamOffset(offset: ClientOffset): offset is StreamOffset {
  return 'stream' in offset;
}
