import { setImmediate as nextTurn } from 'node:timers/promises';
import type { StreamInfo } from '@nats-io/jetstream';
import { millis } from '@nats-io/nats-core';
import type { LogEntry } from '../../../core/model/event.ts';
import { isRowEntry } from '../../../core/model/event.ts';
import { rowOffset } from '../../../core/model/offset.ts';
import type { Cancel, Clock } from '../../../core/model/ports/host-ports.ts';
import { isChangesEpoch } from '../protocol/event-message.ts';
import type { HubEventLog } from './event-log.ts';
import { HoleFiller } from './hole-filler.ts';
import type { HubParts } from './hub-parts.ts';
import type { StoredEvent } from './stored-event.ts';
import { StreamCopy } from './stream-copy.ts';
import { withTimeLimit } from './time-limit.ts';

/**
 * Longest wait after a batch was published. Waits only for readers that were up to date before the batch (decision C7).
 */
const DRAIN_WAIT_MS = 250;
/** Interval at which events that the stream no longer keeps are deleted from hub.db. */
const CUT_EVERY_MS = 60_000;
/** Minimum time between two log lines about messages that are not events. */
const LOG_EVERY_MS = 10_000;
const CLOSE_MS = 2000;

/** A channel of the feed, from which clients read the events that are published to it. */
export interface EventChannel {
  publish(entries: readonly LogEntry[]): void;
  skipTo(offset: LogEntry['offset']): void;
  drained(clock: Clock, atMostMs: number): Promise<void>;
}

export interface StreamEventsParts extends HubParts {
  readonly events: HubEventLog;
  readonly channel: EventChannel;
  /** The channel for readers of rows and changes; `channel` is the one for readers of rows only. */
  readonly channelWithChanges: EventChannel;
  readonly onPublished: () => void;
}

/** Publishes the stream's events to this hub's readers, and keeps them in hub.db as long as the stream keeps them. */
export class StreamEvents {
  readonly copy: StreamCopy;
  readonly #holes: HoleFiller;
  readonly #parts: StreamEventsParts;
  #info: StreamInfo | undefined;
  /**
   * Time at which the stream was found to lack messages. Becomes undefined once `#compare` has checked a newer presence
   * of every Mac that is not away.
   */
  #doubtSinceMs: number | undefined;
  #rejected = 0;
  #unlogged = 0;
  #loggedAtMs = Number.NEGATIVE_INFINITY;
  #cancelCut: Cancel | undefined;
  #isMerging = false;
  #isClosed = false;

  constructor(parts: StreamEventsParts) {
    this.#parts = parts;
    const { store, clock, log } = parts;
    if (store.doubtfulAfter !== undefined) this.#doubtSinceMs = clock.monotonic();
    this.#holes = new HoleFiller({
      ...parts,
      onEvents: (events) => this.#publish(events),
      keptMs: () => this.#keptMs,
    });
    this.copy = new StreamCopy({
      ...parts,
      onEvents: async (events) => {
        if (events.length > 0) await this.#publish(events);
        this.#note();
      },
      onRejected: (message, reason) => this.#reject(message, reason),
      onChecked: (info) => {
        this.#info = info;
        this.#compare().catch((error: unknown) =>
          log.debug('the rows that the Macs report cannot be compared with the stream', { error }),
        );
      },
      onSkipped: (sequence) => {
        this.#doubtSinceMs = clock.monotonic();
        store.doubtfulAfter = Math.min(sequence, store.doubtfulAfter ?? sequence);
      },
    });
  }

  /** Size of the stream at the servers in bytes; null before the first report. */
  get streamBytes(): number | null {
    return this.#info?.state.bytes ?? null;
  }

  get counts() {
    return { rejected: this.#rejected, ...this.#holes.counts };
  }

  /** The Macs that sent rows that this hub cannot read. */
  get unreadable(): ReadonlySet<string> {
    return this.#holes.unreadable;
  }

  /** How long the stream keeps events, in milliseconds; undefined while unknown or if unlimited. */
  get #keptMs(): number | undefined {
    const maxAgeMs = millis(this.#info?.config.max_age ?? 0);
    return maxAgeMs > 0 ? maxAgeMs : undefined;
  }

  start(): void {
    this.copy.start();
    this.#note();
    this.#cutLater(CUT_EVERY_MS);
  }

  /** Stops copying. Waits at most two seconds for a broker that does not answer. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#holes.close();
    this.#cancelCut?.();
    this.#cancelCut = undefined;
    await withTimeLimit(this.copy.close(), this.#parts.clock, CLOSE_MS).catch(() => undefined);
  }

  /**
   * Compares the copy with the newest row and change that each Mac announces. A difference reveals events that the
   * stream dropped before this hub read them.
   */
  async #compare(): Promise<void> {
    const { store, macs, brokerClock } = this.#parts;
    const doubtSinceMs = this.#doubtSinceMs;
    let isComplete = macs.isLoaded;
    for (const known of macs.list()) {
      const { mac, presence, seenAtMs } = known;
      isComplete &&= macs.isAway(known) || seenAtMs > (doubtSinceMs ?? Number.NEGATIVE_INFINITY);
      const { epoch = '', last } = presence ?? {};
      const changes = last?.changes && { ...last.changes, stream: last.stream };
      for (const newest of [last && { ...last, epoch }, changes]) {
        if (newest === undefined || (store.lastRow(mac, newest.epoch) ?? 0) >= newest.row) continue;
        if (await this.copy.hasPassed(newest)) store.noteLast(mac, newest, Math.floor(brokerClock.now()));
        else isComplete = false;
      }
    }
    this.#note();
    if (!isComplete || doubtSinceMs !== this.#doubtSinceMs) return;
    this.#doubtSinceMs = undefined;
    store.doubtfulAfter = undefined;
  }

  /** Starts or continues merging the events of new pairs and filling holes. */
  #note(): void {
    if (this.#parts.pairs.merging !== undefined) void this.#merge();
    this.#holes.note();
  }

  /** Merges what the Macs of new pairs have published, in steps. Continues where an earlier run of the hub ended. */
  async #merge(): Promise<void> {
    const { store, log } = this.#parts;
    if (this.#isMerging) return;
    this.#isMerging = true;
    try {
      while (!this.#isClosed && store.mergeStep()) await nextTurn();
      if (!this.#isClosed) this.#holes.note();
    } catch (error) {
      log.error('the events of a new pair cannot be merged', { error });
    } finally {
      this.#isMerging = false;
    }
  }

  async #publish(stored: readonly StoredEvent[]): Promise<void> {
    const { events, channel, channelWithChanges, clock, onPublished } = this.#parts;
    const entries = events.readable(stored);
    const rows = entries.filter(isRowEntry);
    // For readers of rows, the batch ends at its newest row, even if changes follow that row.
    const ends = [
      [channel, rows, stored.findLast(({ epoch }) => !isChangesEpoch(epoch))],
      [channelWithChanges, entries, stored.at(-1)],
    ] as const;
    for (const [one, added, last] of ends) {
      if (added.length > 0) one.publish(added);
      if (last !== undefined) one.skipTo(rowOffset(last.number));
    }
    if (rows.length > 0) onPublished();
    // First lets requests and sockets proceed, then waits for the readers that were up to date before this batch.
    await nextTurn();
    await Promise.all([channel, channelWithChanges].map((one) => one.drained(clock, DRAIN_WAIT_MS)));
  }

  /** Counts each rejected message. Logs at most one every ten seconds, without its body. */
  #reject(message: Readonly<Record<string, unknown>>, reason: string): void {
    const { clock, log } = this.#parts;
    this.#rejected += 1;
    this.#unlogged += 1;
    if (clock.monotonic() - this.#loggedAtMs < LOG_EVERY_MS) return;
    log.warn('skipped a message that is not an event of a Mac', { ...message, reason, count: this.#unlogged });
    this.#unlogged = 0;
    this.#loggedAtMs = clock.monotonic();
  }

  #cutLater(ms: number): void {
    this.#cancelCut = this.#parts.clock.after(ms, () => {
      void this.#cut()
        .catch((error: unknown) => {
          this.#parts.log.error('old events could not be deleted from hub.db', { error });
          return false;
        })
        .then((hasMore) => {
          if (this.#cancelCut !== undefined) this.#cutLater(hasMore ? 0 : CUT_EVERY_MS);
        });
    });
  }

  /**
   * Deletes the events that the stream no longer keeps, by the broker's time. Measures that time for each call, because
   * this machine's clock may have been changed. Returns true if more events remain to be deleted.
   */
  async #cut(): Promise<boolean> {
    const { store, connection, brokerClock } = this.#parts;
    if (this.#info === undefined || !connection.isConnected) return false;
    const nowMs = await brokerClock.measured();
    const { created, state } = this.#info;
    return store.cut(nowMs - (this.#keptMs ?? nowMs), created, state.first_seq);
  }
}
