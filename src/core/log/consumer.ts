import { setImmediate as nextTurn } from 'node:timers/promises';
import { isChatDbAway } from '../model/errors.ts';
import type { LogEntry } from '../model/event.ts';
import { isAfter, type Offset } from '../model/offset.ts';
import type { ConsumerTask, EventConsumer, EventFeed, FeedReader, ResumeOptions } from '../model/ports/feed-ports.ts';
import type { Clock, Log } from '../model/ports/host-ports.ts';
import { Wakeup } from '../runtime/wakeup.ts';

/** Maximum number of entries taken from the feed at once. */
const BATCH_SIZE = 64;
/** Delay before the next attempt after the feed or the store failed. */
const RETRY_MS = 1000;

/**
 * An `EventConsumer` over a resumed reader of the feed. Joins the feed when it is created, so that it misses nothing
 * published from then on.
 */
export class Consumer<Outcome> implements EventConsumer {
  readonly #feed: Pick<EventFeed, 'resume'>;
  readonly #task: ConsumerTask<Outcome>;
  #options: ResumeOptions;
  readonly #log: Log;
  #reader: FeedReader;
  #generation: number;
  #offset: Offset;
  /** Entries taken from the feed. Once these are handled, everything up to `#takenUpTo` is done. */
  #taken: readonly LogEntry[] = [];
  #next = 0;
  #takenUpTo: Offset;
  #isStopped = false;
  #mayHaveMore = true;
  readonly #wakeup: Wakeup;
  #ended: Promise<void> = Promise.resolve();

  constructor(
    feed: Pick<EventFeed, 'resume'>,
    task: ConsumerTask<Outcome>,
    options: ResumeOptions,
    host: { readonly clock: Clock; readonly log: Log },
  ) {
    this.#feed = feed;
    this.#task = task;
    this.#options = options;
    this.#wakeup = new Wakeup(host.clock);
    this.#log = host.log;
    this.#offset = task.storedOffset();
    this.#takenUpTo = this.#offset;
    this.#reader = this.#join(this.#offset);
    this.#generation = this.#reader.generation();
  }

  get offset(): Offset {
    return this.#offset;
  }

  get ended(): Promise<void> {
    return this.#ended;
  }

  start(): void {
    this.#ended = this.#run();
  }

  stop(): void {
    this.#isStopped = true;
    this.#wakeup.wake();
  }

  wake(): void {
    this.#noteMore();
  }

  seek(offset: Offset, options: ResumeOptions = this.#options): void {
    this.#options = options;
    this.#reader.close();
    this.#reader = this.#join(offset);
    this.#generation = this.#reader.generation();
    this.#offset = offset;
    this.#takenUpTo = offset;
    this.#taken = [];
    this.#next = 0;
    this.#noteMore();
  }

  #join(offset: Offset): FeedReader {
    return this.#feed.resume(offset, () => this.#onMore(), this.#options);
  }

  #onMore(): void {
    // If the log started over (decisions C4, C5), the stored offset was reset too.
    if (this.#reader.generation() !== this.#generation) this.seek(this.#task.storedOffset());
    else this.#noteMore();
  }

  #noteMore(): void {
    this.#mayHaveMore = true;
    this.#wakeup.wake();
  }

  async #run(): Promise<void> {
    while (!this.#isStopped) {
      try {
        const first = this.#task.first?.();
        const entry = this.#taken[this.#next];
        // Lets requests and other consumers run in three cases: after the work that `first` starts, after an entry that
        // must be handled again, and after a full batch.
        if (first !== undefined) {
          await first;
          await nextTurn();
        } else if (entry !== undefined) {
          if (!(await this.#handle(entry))) await nextTurn();
        } else if (!this.#take()) await this.#more();
        else if (this.#taken.length === BATCH_SIZE) await nextTurn();
      } catch (error) {
        if (!isChatDbAway(error)) {
          this.#log.error('a consumer of events failed, retrying', { consumer: this.#task.name, error });
        }
        await this.#more(RETRY_MS);
      }
    }
    this.#reader.close();
  }

  /** Takes the next batch from the feed. Returns false if the batch has no entries and its offset is not new. */
  #take(): boolean {
    this.#skipTo(this.#takenUpTo);
    this.#mayHaveMore = false;
    const batch = this.#reader.take(BATCH_SIZE);
    this.#taken = batch.entries;
    this.#next = 0;
    this.#takenUpTo = batch.upTo;
    return batch.entries.length > 0 || isAfter(batch.upTo, this.#offset);
  }

  /** Waits until the feed may have more, or for at most `atMostMs`. */
  async #more(atMostMs?: number): Promise<void> {
    if (this.#isStopped || (this.#mayHaveMore && atMostMs === undefined)) return;
    await this.#wakeup.wait(atMostMs);
  }

  /** Returns false if the entry must be handled again. */
  async #handle(entry: LogEntry): Promise<boolean> {
    const { rowId } = entry.offset;
    if (rowId > this.#offset.rowId + 1) this.#skipTo({ rowId: rowId - 1, change: this.#offset.change });
    const reader = this.#reader;
    const handled = await this.#task.handle(entry);
    if (!handled.isDone) return false;
    // If `seek` replaced the reader meanwhile, only the outcome is recorded: the offset stays where `seek` set it.
    if (reader === this.#reader) {
      this.#next += 1;
      this.#offset = entry.offset;
    }
    this.#task.progress(this.#offset, handled.record);
    return true;
  }

  /** Marks rows between the offset and `upTo` as done, because they are no longer in chat.db. */
  #skipTo(upTo: Offset): void {
    if (!isAfter(upTo, this.#offset)) return;
    const first = this.#offset.rowId + 1;
    const record = upTo.rowId < first ? undefined : this.#task.gone(first, upTo.rowId, this.#options);
    this.#offset = upTo;
    this.#task.progress(upTo, record);
  }
}
