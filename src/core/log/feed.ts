import type { LogEntry } from '../model/event.ts';
import { type Narrowing, type Reading, wantedBy } from '../model/narrowing.ts';
import { type ClientOffset, encodeOffset, isAfter, latest, type Offset, rowOffset } from '../model/offset.ts';
import type { ChangeControl } from '../model/ports/changes-ports.ts';
import type {
  ConsumerTask,
  EventConsumer,
  FeedBatch,
  FeedOptions,
  FeedPage,
  FeedReader,
  MessageLog,
  ResumeOptions,
  RowFeed,
  SeenPage,
} from '../model/ports/feed-ports.ts';
import type { Clock, Log } from '../model/ports/host-ports.ts';
import { problem } from '../model/problems.ts';
import type { ChangeStream } from './change-stream.ts';
import type { Channel, Member } from './channel.ts';
import { Consumer } from './consumer.ts';

export interface FeedParts {
  readonly channel: Channel;
  /** Absent in a service without change detection: a request for changes is then refused. */
  readonly changes?: { readonly stream: ChangeSource; readonly control: ChangeControl };
  readonly messages: MessageLog;
  /** Returns the highest row id that chat.db had when it was last replaced. Default: it never was. */
  readonly replacedAt?: () => number;
  /** True if some messages are hidden: readers skip them unless they ask for them. */
  readonly hidesSome?: boolean;
  readonly clock: Clock;
  readonly log: Log;
}

export type ChangeSource = Pick<ChangeStream, 'channel' | 'generation' | 'isKept' | 'read'>;

/**
 * Supplies a resumed reader with events. `read` returns the events after a position: from the channel if the channel
 * still holds all of them, otherwise from storage.
 */
interface Source {
  readonly channel: Channel;
  read(position: Offset, limit: number): FeedPage;
}

/**
 * The feed of published events. A resumed reader catches up from chat.db up to the last published offset, then
 * continues from the channel's ring once the ring holds everything after its offset. It reads chat.db and the ring with
 * the same offset, so the switch needs no lock and can neither skip nor repeat an event.
 */
export class Feed implements RowFeed {
  readonly #rows: Source;
  readonly #changes: FeedParts['changes'];
  readonly #messages: MessageLog;
  readonly #replacedAt: () => number;
  readonly #hidesSome: boolean;
  readonly #host: { readonly clock: Clock; readonly log: Log };

  constructor({ channel, changes, messages, replacedAt = () => 0, hidesSome = false, clock, log }: FeedParts) {
    this.#changes = changes;
    this.#messages = messages;
    this.#replacedAt = replacedAt;
    this.#hidesSome = hidesSome;
    this.#host = { clock, log };
    this.#rows = {
      channel,
      read(position, limit) {
        const { last } = channel;
        const entries = channel.after(position, limit) ?? messages.entries(position, last, limit);
        return { entries, upTo: entries.at(-1)?.offset ?? latest(position, last) };
      },
    };
  }

  lastPublished(options: FeedOptions = {}): Offset {
    return this.#source(options).channel.last;
  }

  changeGeneration(): number {
    return this.#changes?.stream.generation ?? 0;
  }

  offsetText(offset: Offset, generation: number | undefined): string {
    if (generation !== undefined) return encodeOffset(offset, generation);
    // As a bare row id, it would be taken for one of the chat.db that was replaced.
    return this.#mayBeOfReplaced(offset.rowId) ? encodeOffset(offset, this.changeGeneration()) : String(offset.rowId);
  }

  resolve(offset: ClientOffset | undefined, { changes = false }: FeedOptions = {}): Offset {
    if (changes) this.#noteChangesWanted();
    const last = this.lastPublished({ changes });
    if (offset === undefined) return last;
    if ('opaque' in offset) throw problem('offset_of_another');
    const { highestRowId } = this.#messages.identity(rowOffset(offset.rowId));
    if ('generation' in offset && this.#changes?.stream.isKept(offset, changes) !== true) {
      const latestText = this.offsetText(last, changes ? this.changeGeneration() : undefined);
      throw problem('offset_expired', {}, { extra: { latest: latestText } });
    }
    const highest = Math.max(highestRowId, last.rowId);
    if (offset.rowId > highest || (!('generation' in offset) && this.#mayBeOfReplaced(offset.rowId))) {
      throw problem('after_unknown', { after: offset.rowId, highest }, { extra: { highest_row_id: highest } });
    }
    if (!changes) return rowOffset(offset.rowId);
    return { rowId: offset.rowId, change: 'generation' in offset ? offset.change : last.change };
  }

  /** Reports whether a bare row id may be one of a chat.db that was replaced. Row id 0 is the beginning of any. */
  #mayBeOfReplaced(rowId: number): boolean {
    return rowId > 0 && rowId < this.#replacedAt();
  }

  admits(): boolean {
    return true;
  }

  wanted(narrowing: Narrowing, key?: () => Reading): ((entry: LogEntry) => boolean) | undefined {
    return wantedBy(narrowing, this.#hidesSome, key);
  }

  live(onMore: () => void, options: FeedOptions = {}): FeedReader {
    return this.#source(options).channel.live(onMore);
  }

  resume(offset: Offset, onMore: () => void, options: ResumeOptions = {}): FeedReader {
    const source = this.#source(options);
    const { channel } = source;
    let position = offset;
    let generation = channel.generation;
    const isCurrent = (): boolean => generation === channel.generation;
    const member: Member = {
      onMore,
      hasBackpressure: options.backpressure ?? false,
      isPending: false,
      isCaughtUp: () => isCurrent() && !isAfter(channel.last, position),
    };
    channel.join(member);
    return {
      take: (limit): FeedBatch => {
        if (!isCurrent()) {
          // The channel was restarted, for example because chat.db was replaced. Every reader continues after the
          // offset of that restart.
          position = channel.base;
          generation = channel.generation;
        }
        const { entries, upTo } = source.read(position, limit);
        position = upTo;
        channel.noteTaken(member);
        return { entries, missed: 0, upTo };
      },
      isCaughtUp: () => member.isCaughtUp(),
      generation: () => channel.generation,
      close: () => channel.leave(member),
    };
  }

  consume<Outcome>(task: ConsumerTask<Outcome>, options: ResumeOptions = {}): EventConsumer {
    return new Consumer(this, task, options, this.#host);
  }

  page(after: Offset, limit: number, options: FeedOptions = {}): SeenPage {
    const page = this.#source(options).read(after, limit);
    return { ...page, looked: page.entries.length };
  }

  /**
   * Records that a client asks for changes. The first such request starts detection and reads the baseline from
   * chat.db.
   */
  #noteChangesWanted(): void {
    if (this.#changes === undefined) throw problem('changes_disabled');
    const { stream, control } = this.#changes;
    if (stream.channel === undefined) this.#messages.newest();
    control.noteAsked();
  }

  #source({ changes = false }: FeedOptions): Source {
    const stream = this.#changes?.stream;
    if (!changes || stream?.channel === undefined) return this.#rows;
    return { channel: stream.channel, read: (position, limit) => stream.read(position, limit) };
  }
}
