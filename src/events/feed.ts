import type { LogEntry } from '../domain/event.ts';
import { type ClientOffset, isAfter, latest, type Offset, rowOffset } from '../domain/offset.ts';
import type {
  ConsumerTask,
  EventConsumer,
  EventFeed,
  FeedBatch,
  FeedOptions,
  FeedPage,
  FeedReader,
  MessageLog,
  ResumeOptions,
} from '../domain/ports/feed.ts';
import type { Clock, Log } from '../domain/ports/host.ts';
import { problem } from '../domain/problems.ts';
import type { Channel, Member } from './channel.ts';
import { Consumer } from './consumer.ts';

export interface FeedParts {
  readonly channel: Channel;
  readonly messages: MessageLog;
  readonly clock: Clock;
  readonly log: Log;
}

/**
 * Catch up, cut over, live: a resumed reader reads chat.db up to the last published offset, then goes on from the
 * channel's ring as soon as that holds everything after its own. Both are asked with the same offset, so the cut-over
 * needs no lock and cannot skip or repeat.
 */
export class Feed implements EventFeed {
  readonly #channel: Channel;
  readonly #messages: MessageLog;
  readonly #host: { readonly clock: Clock; readonly log: Log };

  constructor({ channel, messages, clock, log }: FeedParts) {
    this.#channel = channel;
    this.#messages = messages;
    this.#host = { clock, log };
  }

  lastPublished(): Offset {
    return this.#channel.last;
  }

  live(onMore: () => void): FeedReader {
    return this.#channel.live(onMore);
  }

  resume(offset: Offset, onMore: () => void, { backpressure = false }: ResumeOptions = {}): FeedReader {
    const channel = this.#channel;
    let position = offset;
    let generation = channel.generation;
    const isCurrent = (): boolean => generation === channel.generation;
    const member: Member = {
      onMore,
      hasBackpressure: backpressure,
      isPending: false,
      isCaughtUp: () => isCurrent() && !isAfter(channel.last, position),
    };
    channel.join(member);
    return {
      take: (limit): FeedBatch => {
        if (!isCurrent()) {
          // The log was replaced: every reader starts at its newest row (decision C5).
          position = channel.base;
          generation = channel.generation;
        }
        const last = channel.last;
        const entries = this.#after(position, limit);
        position = entries.at(-1)?.offset ?? latest(position, last);
        channel.noteTaken(member);
        return { entries, missed: 0, upTo: position };
      },
      isCaughtUp: () => member.isCaughtUp(),
      generation: () => channel.generation,
      close: () => channel.leave(member),
    };
  }

  consume<Outcome>(task: ConsumerTask<Outcome>, options: ResumeOptions = {}): EventConsumer {
    return new Consumer(this, task, options, this.#host);
  }

  changeGeneration(): number {
    return 0;
  }

  resolve(offset: ClientOffset | undefined, { changes = false }: FeedOptions = {}): Offset {
    if (changes) throw problem('changes_disabled');
    if (offset === undefined) return this.#channel.last;
    const { highestRowId } = this.#messages.identity(rowOffset(offset.rowId));
    const highest = Math.max(highestRowId, this.#channel.last.rowId);
    if (offset.rowId <= highest) return rowOffset(offset.rowId);
    throw problem('after_unknown', { after: offset.rowId, highest }, { extra: { highest_row_id: highest } });
  }

  page(after: Offset, limit: number): FeedPage {
    const entries = this.#after(after, limit);
    const last = this.#channel.last;
    return { entries, upTo: entries.at(-1)?.offset ?? latest(after, last) };
  }

  #after(offset: Offset, limit: number): readonly LogEntry[] {
    return this.#channel.after(offset, limit) ?? this.#messages.entries(offset, this.#channel.last, limit);
  }
}
