import type { LogEntry } from '../domain/event.ts';
import type { Narrowing } from '../domain/narrowing.ts';
import type { ClientOffset, Offset } from '../domain/offset.ts';
import type {
  ConsumerTask,
  EventConsumer,
  EventFeed,
  FeedOptions,
  FeedReader,
  ResumeOptions,
  SeenPage,
} from '../domain/ports/feed.ts';

/** The feed for a limited key: positions are those of the log, and entries that it may not read are left out. */
export class LimitedFeed implements EventFeed {
  readonly #feed: EventFeed;
  readonly admits: (entry: LogEntry) => boolean;

  /** `admits` reports whether the key may read an entry now. */
  constructor(feed: EventFeed, admits: (entry: LogEntry) => boolean) {
    this.#feed = feed;
    this.admits = admits;
  }

  lastPublished(options?: FeedOptions): Offset {
    return this.#feed.lastPublished(options);
  }

  changeGeneration(): number {
    return this.#feed.changeGeneration();
  }

  offsetText(offset: Offset, generation: number | undefined): string {
    return this.#feed.offsetText(offset, generation);
  }

  resolve(offset: ClientOffset | undefined, options?: FeedOptions): Offset {
    return this.#feed.resolve(offset, options);
  }

  wanted(narrowing: Narrowing): ((entry: LogEntry) => boolean) | undefined {
    return this.#feed.wanted(narrowing);
  }

  live(onMore: () => void, options?: FeedOptions): FeedReader {
    return this.#narrowed(this.#feed.live(onMore, options));
  }

  resume(offset: Offset, onMore: () => void, options?: ResumeOptions): FeedReader {
    return this.#narrowed(this.#feed.resume(offset, onMore, options));
  }

  consume<Outcome>(task: ConsumerTask<Outcome>, options?: ResumeOptions): EventConsumer {
    const handle: typeof task.handle = async (entry) => (this.admits(entry) ? task.handle(entry) : { isDone: true });
    return this.#feed.consume({ ...task, handle }, options);
  }

  page(after: Offset, limit: number, options?: FeedOptions): SeenPage {
    const page = this.#feed.page(after, limit, options);
    return { ...page, entries: page.entries.filter(this.admits) };
  }

  #narrowed(reader: FeedReader): FeedReader {
    return {
      take: (limit) => {
        const batch = reader.take(limit);
        return { ...batch, entries: batch.entries.filter(this.admits) };
      },
      isCaughtUp: () => reader.isCaughtUp(),
      generation: () => reader.generation(),
      close: () => reader.close(),
    };
  }
}
