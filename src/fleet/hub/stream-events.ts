import type { StreamInfo } from '@nats-io/jetstream';
import type { LogEntry } from '../../domain/event.ts';
import type { Cancel, Clock, Log } from '../../domain/ports/host.ts';
import type { FleetConnection } from '../protocol/connection.ts';
import type { BrokerClock } from './broker-clock.ts';
import type { HubEventLog } from './event-log.ts';
import type { EventReader } from './event-reader.ts';
import type { EventStore } from './event-store.ts';
import { HoleFiller, type HoleFillerParts } from './hole-filler.ts';
import type { StoredEvent } from './stored-event.ts';
import { StreamCopy } from './stream-copy.ts';
import { within } from './within.ts';

/** As long as a publisher waits for readers that were caught up (decision C7). */
const DRAIN_WAIT_MS = 250;
/** How often what the stream no longer keeps is deleted here too. */
const CUT_EVERY_MS = 60_000;
/** Messages that are no events: so often one of them is logged. */
const LOG_EVERY_MS = 10_000;
const CLOSE_MS = 2000;
const NS_PER_MS = 1_000_000;

/** Where events are published: the channel of the feed. */
export interface EventChannel {
  publish(entries: readonly LogEntry[]): void;
  skipTo(offset: LogEntry['offset']): void;
  drained(clock: Clock, atMostMs: number): Promise<void>;
}

export interface StreamEventsParts extends Pick<HoleFillerParts, 'reads' | 'macs' | 'envelope'> {
  readonly connection: FleetConnection;
  readonly store: EventStore;
  readonly reader: EventReader;
  readonly events: HubEventLog;
  readonly channel: EventChannel;
  readonly brokerClock: BrokerClock;
  readonly clock: Clock;
  readonly log: Log;
  readonly onPublished: () => void;
}

/** Publishes what comes in the stream to the readers of this hub, and keeps hub.db as long as the stream is kept. */
export class StreamEvents {
  readonly copy: StreamCopy;
  readonly #holes: HoleFiller;
  readonly #parts: StreamEventsParts;
  #info: StreamInfo | undefined;
  /** When the stream was found to lack messages; undefined once each Mac has said since what it had published. */
  #doubtSinceMs: number | undefined;
  #rejected = 0;
  #unlogged = 0;
  #loggedAtMs = Number.NEGATIVE_INFINITY;
  #cancelCut: Cancel | undefined;

  constructor(parts: StreamEventsParts) {
    this.#parts = parts;
    const { connection, store, reader, clock, log } = parts;
    this.#holes = new HoleFiller({
      ...parts,
      onEvents: (events) => this.#publish(events),
      keptMs: () => this.#keptMs,
    });
    this.copy = new StreamCopy({
      ...{ connection, store, clock, log },
      onEvents: async (events) => {
        if (events.length > 0) await this.#publish(events);
        this.#holes.note();
      },
      read: (event) => reader.read(event),
      before: () => parts.macs.read(),
      onRejected: (message, reason) => this.#reject(message, reason),
      onChecked: (info) => {
        this.#info = info;
        this.#compare().catch((error: unknown) => log.debug('the Macs cannot be compared with the stream', { error }));
      },
      onSkipped: (sequence) => {
        this.#doubtSinceMs = clock.monotonic();
        store.doubtfulAfter = Math.min(sequence, store.doubtfulAfter ?? sequence);
      },
    });
  }

  /** Bytes that the stream takes in the servers; null before it was first asked. */
  get streamBytes(): number | null {
    return this.#info?.state.bytes ?? null;
  }

  get counts() {
    return { rejected: this.#rejected, ...this.#holes.counts };
  }

  /** How long the stream keeps events; undefined while that is unknown, or without a limit. */
  get #keptMs(): number | undefined {
    const maxAgeMs = (this.#info?.config.max_age ?? 0) / NS_PER_MS;
    return maxAgeMs > 0 ? maxAgeMs : undefined;
  }

  start(): void {
    this.copy.start();
    this.#holes.note();
    this.#cutLater(CUT_EVERY_MS);
  }

  /** Waits for a broker that hangs at most two seconds. */
  async close(): Promise<void> {
    this.#holes.close();
    this.#cancelCut?.();
    this.#cancelCut = undefined;
    await within(this.copy.close(), this.#parts.clock, CLOSE_MS).catch(() => undefined);
  }

  /** Compares what the Macs say they published with what was read: the stream may have dropped their last rows. */
  async #compare(): Promise<void> {
    const { store, macs, brokerClock } = this.#parts;
    const doubtSinceMs = this.#doubtSinceMs;
    let isComplete = macs.isLoaded;
    for (const known of macs.list()) {
      const { mac, presence, seenAtMs } = known;
      isComplete &&= macs.isAway(known) || seenAtMs > (doubtSinceMs ?? Number.NEGATIVE_INFINITY);
      if (presence?.last === undefined || (store.lastRow(mac, presence.epoch) ?? 0) >= presence.last.row) continue;
      if (await this.copy.hasPassed(presence.last)) {
        store.noteLast(mac, presence.epoch, presence.last, Math.floor(brokerClock.now()));
      } else isComplete = false;
    }
    this.#holes.note();
    if (!isComplete || doubtSinceMs !== this.#doubtSinceMs) return;
    this.#doubtSinceMs = undefined;
    store.doubtfulAfter = undefined;
  }

  async #publish(stored: readonly StoredEvent[]): Promise<void> {
    const { events, channel, clock, onPublished } = this.#parts;
    const entries = events.readable(stored);
    const last = stored.at(-1);
    if (entries.length > 0) {
      channel.publish(entries);
      onPublished();
    }
    if (last !== undefined) channel.skipTo({ rowId: last.number, change: 0 });
    // Requests and sockets first, then the readers that were caught up.
    await new Promise<void>((resolve) => void setImmediate(resolve));
    await channel.drained(clock, DRAIN_WAIT_MS);
  }

  /** Counted each time, and logged now and then: without the body, and without what it could do to a log. */
  #reject(message: Readonly<Record<string, unknown>>, reason: string): void {
    const { clock, log } = this.#parts;
    this.#rejected += 1;
    this.#unlogged += 1;
    if (clock.monotonic() - this.#loggedAtMs < LOG_EVERY_MS) return;
    log.warn('left out what is no event of a Mac', { ...message, reason, count: this.#unlogged });
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

  /** By the broker's time, measured now: this machine's clock may have been set since. */
  async #cut(): Promise<boolean> {
    const { store, connection, brokerClock } = this.#parts;
    if (this.#info === undefined || !connection.isConnected) return false;
    const nowMs = await brokerClock.measured();
    const { created, state } = this.#info;
    return store.cut(nowMs - (this.#keptMs ?? nowMs), created, state.first_seq);
  }
}
