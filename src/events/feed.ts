import { AppError } from '../domain/errors.ts';
import type { LogEntry } from '../domain/event.ts';
import type { EventFeed, FeedBatch, FeedReader, MessageLog } from '../domain/ports/feed.ts';
import type { Channel, Member } from './channel.ts';

/**
 * Catch up, cut over, live. chat.db is a durable, ordered log and the row id is its offset: whoever must not
 * lose anything keeps a row id, reads chat.db up to the last published row, and goes on from the channel's
 * ring as soon as that holds everything after its row id. The cut-over needs no lock: both sides are asked
 * with the same row id, and nothing is ever read beyond the last published one.
 */
export class Feed implements EventFeed {
  readonly #channel: Channel;
  readonly #log: MessageLog;

  constructor(channel: Channel, log: MessageLog) {
    this.#channel = channel;
    this.#log = log;
  }

  lastPublished(): number {
    return this.#channel.last;
  }

  live(onMore: () => void): FeedReader {
    return this.#channel.live(onMore);
  }

  resume(rowId: number, onMore: () => void, options: { readonly pacing?: boolean } = {}): FeedReader {
    const channel = this.#channel;
    let position = rowId;
    let generation = channel.generation;
    const isCurrent = (): boolean => generation === channel.generation;
    const member: Member = {
      onMore,
      hasBackpressure: options.pacing ?? false,
      isPending: false,
      isCaughtUp: () => isCurrent() && position >= channel.last,
    };
    channel.join(member);
    return {
      take: (limit): FeedBatch => {
        if (!isCurrent()) {
          // The log was replaced: everyone starts at its newest row (C5).
          position = channel.base;
          generation = channel.generation;
        }
        const last = channel.last;
        const entries = this.#after(position, limit);
        position = entries.length < limit ? Math.max(position, last) : (entries.at(-1)?.rowId ?? position);
        channel.noteTaken(member);
        return { entries, missed: 0, upTo: position };
      },
      isCaughtUp: () => member.isCaughtUp(),
      generation: () => channel.generation,
      close: () => channel.leave(member),
    };
  }

  assertKnown(after: number): void {
    const highest = Math.max(this.#log.identity(0).highestRowId, this.#channel.last);
    if (after <= highest) return;
    throw new AppError('gone', 'after_unknown', `There is no row ${after}: the highest row id is ${highest}.`, {
      hint: 'The messages database was probably replaced. Start again without "after", or with the highest row id.',
      extra: { highest_row_id: highest },
    });
  }

  page(after: number, limit: number): readonly LogEntry[] {
    this.assertKnown(after);
    return this.#after(after, limit);
  }

  #after(rowId: number, limit: number): readonly LogEntry[] {
    return this.#channel.after(rowId, limit) ?? this.#log.entries(rowId, this.#channel.last, limit);
  }
}
