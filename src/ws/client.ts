import type { LogEntry } from '../domain/event.ts';
import type { FeedReader } from '../domain/ports/feed.ts';
import type { ClientSocket } from './client-socket.ts';
import type { FrameBatch, FrameCache } from './frame-batch.ts';

/** Entries taken from the feed at a time: as many as the publisher publishes in one batch (decision C7). */
const BATCH_SIZE = 256;
/** Decision G1: pings, 30 s apart, that a client may leave unanswered or during which it may read nothing. */
const MAX_MISSED_PINGS = 2;
/** Draining this much between pings counts as a pong, because a pong may be queued behind events. */
const LIVENESS_BYTES = 1024 * 1024;
const NONE: readonly LogEntry[] = [];

export interface ClientParts {
  readonly socket: ClientSocket;
  readonly frames: FrameCache;
  readonly join: (onMore: () => void) => FeedReader;
  /** True for a client that does not resume: when it is too slow it loses the oldest (decision G2). */
  readonly canLoseEvents: boolean;
  /** Of a limited key: which events it may see. */
  readonly admits: ((entry: LogEntry) => boolean) | undefined;
  /** Asks for `serve` to be called soon. */
  readonly wake: (client: Client) => void;
  /** The events this client lost in one burst, once it is over (decision C7). */
  readonly onMissed: (missed: number) => void;
}

/** One WebSocket client: its position in the feed, what has been sent to it, and whether it is alive. */
export class Client {
  readonly socket: ClientSocket;
  readonly #parts: ClientParts;
  readonly #reader: FeedReader;
  /** Taken from the feed and not sent: what did not fit into the last batch. */
  #held: readonly LogEntry[] = NONE;
  /** Sent and not drained yet. */
  #sending: FrameBatch | undefined;
  #missedInBurst = 0;
  #drainedBytes = 0;
  #isHeard = true;
  #silentPings = 0;
  /** Batches sent, and how many it was at the last ping. */
  #batches = 0;
  #batchesAtPing = 0;
  #stuckPings = 0;

  constructor(parts: ClientParts) {
    this.socket = parts.socket;
    this.#parts = parts;
    this.#reader = parts.join(() => parts.wake(this));
  }

  /** Sends the next batch, unless the one before is not drained yet. Throws what the feed throws. */
  serve(): void {
    if (this.#sending !== undefined || !this.socket.isOpen()) return;
    const { admits, frames } = this.#parts;
    // What is held was admitted by the rights of an earlier moment.
    if (admits !== undefined) this.#held = this.#held.filter(admits);
    if (this.#held.length === 0) {
      const { entries, missed } = this.#reader.take(BATCH_SIZE);
      this.#held = admits === undefined ? entries : entries.filter(admits);
      this.#missedInBurst += missed;
    }
    const batch = frames.front(this.#held);
    // Other clients may see other events between the same two.
    if (admits !== undefined) frames.clear();
    if (batch === undefined) {
      // Events that this client is not to have are left out, and more may follow.
      if (!this.#reader.isCaughtUp()) this.#parts.wake(this);
      return;
    }
    this.#held = batch.texts.length === this.#held.length ? NONE : this.#held.slice(batch.texts.length);
    this.#sending = batch;
    this.#batches += 1;
    if (this.socket.send(batch, this.#onDrain)) this.#noteDrained(batch);
  }

  /** Something came from the client. */
  noteHeard(): void {
    this.#isHeard = true;
  }

  /** Called at every ping: why the client is to be dropped, or undefined (decision G1). */
  livenessError(): string | undefined {
    this.#countMissed();
    if (this.#drainedBytes >= LIVENESS_BYTES) this.#isHeard = true;
    this.#drainedBytes = 0;
    this.#silentPings = this.#isHeard ? 0 : this.#silentPings + 1;
    this.#isHeard = false;
    this.#stuckPings = this.#sending !== undefined && this.#batches === this.#batchesAtPing ? this.#stuckPings + 1 : 0;
    this.#batchesAtPing = this.#batches;
    if (this.#silentPings >= MAX_MISSED_PINGS) return 'it is silent';
    return this.#stuckPings >= MAX_MISSED_PINGS ? 'it reads nothing' : undefined;
  }

  leave(): void {
    this.#countMissed();
    this.#reader.close();
  }

  readonly #onDrain = (): void => {
    // Only a client that reads makes room, so it is alive.
    this.#isHeard = true;
    if (this.#sending !== undefined) this.#noteDrained(this.#sending);
  };

  #noteDrained(batch: FrameBatch): void {
    this.#sending = undefined;
    this.#drainedBytes += batch.size;
    if (this.#held.length > 0 || !this.#reader.isCaughtUp()) this.#parts.wake(this);
    else this.#reportMissed();
  }

  /** Counts also what a client that reads nothing has lost by now. */
  #countMissed(): void {
    if (this.#parts.canLoseEvents) this.#missedInBurst += this.#reader.take(0).missed;
    this.#reportMissed();
  }

  #reportMissed(): void {
    if (this.#missedInBurst > 0) this.#parts.onMissed(this.#missedInBurst);
    this.#missedInBurst = 0;
  }
}
