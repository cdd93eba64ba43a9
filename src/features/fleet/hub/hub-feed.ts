import { type Narrowing, wantedBy } from '../../../core/model/narrowing.ts';
import { type ClientOffset, type Offset, rowOffset, type StreamOffset } from '../../../core/model/offset.ts';
import type {
  ConsumerTask,
  EventConsumer,
  EventFeed,
  FeedOptions,
  FeedReader,
  ResumeOptions,
  SeenPage,
} from '../../../core/model/ports/feed-ports.ts';
import { problem } from '../../../core/model/problems.ts';
import { GENERATION } from './event-log.ts';
import type { HubParts } from './hub-parts.ts';
import type { Offsets } from './offsets.ts';

interface HubFeedParts extends Pick<HubParts, 'store' | 'macs'> {
  /** The feed whose row ids are event numbers of hub.db. */
  readonly feed: EventFeed;
  readonly offsets: Offsets;
}

/**
 * The feed over hub.db, with offsets of the stream in place of row ids (decision N1). Rows and changes are numbered
 * together (decision N9), so one number is the position of a reader with or without changes.
 */
export class HubFeed implements EventFeed {
  readonly #parts: HubFeedParts;

  constructor(parts: HubFeedParts) {
    this.#parts = parts;
  }

  withoutChanges(): readonly string[] {
    return this.#parts.macs.withoutChanges();
  }

  lastPublished(options?: FeedOptions): Offset {
    return this.#parts.feed.lastPublished(options);
  }

  changeGeneration(): number {
    return GENERATION;
  }

  offsetText({ rowId, others }: Offset): string {
    return this.#parts.offsets.textOf(rowId, others);
  }

  resolve(offset: ClientOffset | undefined, { changes = false }: FeedOptions = {}): Offset {
    if (offset === undefined) return this.lastPublished({ changes });
    if (isStreamOffset(offset)) return this.#parts.offsets.positionOf(offset, changes);
    if (offset.rowId !== 0 || 'generation' in offset) throw problem('offset_of_a_mac');
    return rowOffset(0);
  }

  admits(): boolean {
    return true;
  }

  wanted(narrowing: Narrowing): undefined {
    if (wantedBy(narrowing, false) !== undefined) throw problem('not_at_a_hub');
  }

  live(onMore: () => void, options?: FeedOptions): FeedReader {
    return this.#complete(this.#parts.feed.live(onMore, options), this.#parts.store.index.lastNumber, options);
  }

  resume(offset: Offset, onMore: () => void, options?: ResumeOptions): FeedReader {
    // A reader that resumes from offset 0 expects no changes from before it connected. With changes, gaps up to the
    // newest number are therefore ignored.
    const { rowId, others } = offset;
    const isZero = rowId === 0 && others === undefined;
    const start = isZero && options?.changes === true ? this.#parts.store.index.lastNumber : rowId;
    return this.#complete(this.#parts.feed.resume(offset, onMore, options), start, options, others?.[0]);
  }

  consume<Outcome>(task: ConsumerTask<Outcome>, options?: ResumeOptions): EventConsumer {
    // A reader without changes misses nothing if the missing numbers belong to changes.
    const gone: ConsumerTask<Outcome>['gone'] = (first, last, now) =>
      now.changes !== true && this.#parts.store.index.isOfChanges(first, last)
        ? undefined
        : task.gone(first, last, now);
    return this.#parts.feed.consume({ ...task, gone }, options);
  }

  page(after: Offset, limit: number, options?: FeedOptions): SeenPage {
    const page = this.#parts.feed.page(after, limit, options);
    const { others } = after;
    if (others === undefined) return page;
    const entries = page.entries.map((entry) => ({ ...entry, offset: { ...entry.offset, others } }));
    return { ...page, entries, upTo: { ...page.upTo, others } };
  }

  /**
   * Wraps a reader so that it throws `offset_expired` if rows after its position are missing for good. With `changes`,
   * it also throws if changes are missing for good. `from` is the client's offset from another hub.
   */
  #complete(reader: FeedReader, start: number, { changes }: FeedOptions = {}, from?: StreamOffset): FeedReader {
    let number = start;
    return {
      take: (limit) => {
        const batch = reader.take(limit);
        // `take(0)` only counts missed events. It may be called after its client has ended, so it must not throw.
        if (limit === 0) return batch;
        const { rowId } = batch.upTo;
        // Checks the client's offset again, because this hub may have been empty when it resolved the offset.
        if (from !== undefined && number === 0 && rowId > 0) this.#parts.offsets.assertComplete(from, changes === true);
        if (this.#parts.store.index.hasGap(number, rowId, changes)) throw problem('events_missing');
        number = Math.max(number, rowId);
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
