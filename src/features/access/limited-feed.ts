import type { LogEntry } from '../../core/model/event.ts';
import type { Key } from '../../core/model/key.ts';
import type { FeedReader, RowFeed } from '../../core/model/ports/feed-ports.ts';

/**
 * Returns a feed with only the entries that a limited key may read. Each entry keeps its offset in `feed`. `admits`
 * reports whether the key may read an entry now.
 */
export function limitedFeed(feed: RowFeed, admits: (entry: LogEntry) => boolean, key?: () => Key): RowFeed {
  const narrowed = (reader: FeedReader): FeedReader => ({
    take(limit) {
      const batch = reader.take(limit);
      return { ...batch, entries: batch.entries.filter(admits) };
    },
    isCaughtUp: () => reader.isCaughtUp(),
    generation: () => reader.generation(),
    close: () => reader.close(),
  });
  return {
    admits,
    lastPublished: (options) => feed.lastPublished(options),
    changeGeneration: () => feed.changeGeneration(),
    offsetText: (offset, generation) => feed.offsetText(offset, generation),
    resolve: (offset, options) => feed.resolve(offset, options),
    wanted: (narrowing) => feed.wanted(narrowing, key),
    live: (onMore, options) => narrowed(feed.live(onMore, options)),
    resume: (offset, onMore, options) => narrowed(feed.resume(offset, onMore, options)),
    consume(task, options) {
      const handle: typeof task.handle = async (entry) => (admits(entry) ? task.handle(entry) : { isDone: true });
      return feed.consume({ ...task, handle }, options);
    },
    page(after, limit, options) {
      const page = feed.page(after, limit, options);
      return { ...page, entries: page.entries.filter(admits) };
    },
  };
}
