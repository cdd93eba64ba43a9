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
} from '../../domain/ports/feed.ts';
import { problem } from '../../domain/problems.ts';
import { GENERATION } from './event-reader.ts';
import type { Offsets } from './offsets.ts';

/** The feed over hub.db, with the offsets of a fleet in place of row ids (decision N1). It has no changes (decision N2). */
export class HubFeed implements EventFeed {
  readonly #feed: EventFeed;
  readonly #offsets: Offsets;

  constructor(feed: EventFeed, offsets: Offsets) {
    this.#feed = feed;
    this.#offsets = offsets;
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
    if (wantedBy(narrowing) !== undefined) throw problem('not_at_a_hub');
  }

  live(onMore: () => void): FeedReader {
    return this.#feed.live(onMore);
  }

  resume(offset: Offset, onMore: () => void, { backpressure = false }: ResumeOptions = {}): FeedReader {
    return this.#feed.resume(offset, onMore, { backpressure });
  }

  consume<Outcome>(task: ConsumerTask<Outcome>): EventConsumer {
    return this.#feed.consume(task);
  }

  page(after: Offset, limit: number): SeenPage {
    return this.#feed.page(after, limit);
  }
}

export function isStreamOffset(offset: ClientOffset): offset is StreamOffset {
  return 'stream' in offset;
}
