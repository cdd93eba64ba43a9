import type { Writable } from 'node:stream';
import type { LogEntry } from '../model/event.ts';
import type { Offset } from '../model/offset.ts';
import type { FeedReader } from '../model/ports/feed-ports.ts';
import type { BatchCache, EventBatch } from './batch.ts';

/**
 * Maximum number of entries read from the feed in one call. The publisher's batches have the same maximum (decision
 * C7).
 */
const BATCH_SIZE = 256;
/**
 * A client that reads this many bytes between two pings counts as alive. Its pong may be late, because the ping is
 * queued behind events.
 */
const LIVENESS_BYTES = 1024 * 1024;
const NONE: readonly LogEntry[] = [];

/** Why the service ends a connection. */
export type EndReason = 'shutting_down' | 'failure' | 'key_ended' | 'offset_expired';

/** The offset up to which a client has been served, and the generation of the change log that the offset refers to. */
export interface Position {
  readonly offset: Offset;
  readonly generation: number;
}

/** The connection to one client. */
export interface ClientSocket {
  isOpen(): boolean;
  /**
   * Sends a batch. Returns true if the operating system accepted all of its bytes. Otherwise returns false, and calls
   * `onDrain` once they are accepted.
   */
  send(batch: EventBatch, onDrain: () => void): boolean;
  /**
   * Sends a ping, so that both sides notice if the connection is dead. `position` is undefined until the client was
   * first served.
   */
  ping(position: Position | undefined): void;
  close(reason: EndReason): void;
  terminate(): void;
}

/** Writes a batch to a connection. Returns, and calls `onDrain`, as `ClientSocket.send` does. */
export function writeBatch(socket: Writable, { bytes }: EventBatch, onDrain: () => void): boolean {
  socket.write(bytes);
  if (socket.writableLength === 0) return true;
  // Not all bytes are written yet. An empty write is queued behind the batch, and its callback runs once the batch is
  // written. A callback for every batch would cost as much as the write itself.
  socket.write('', (error) => {
    if (!error) onDrain();
  });
  return false;
}

/** The numbers of pings after which a client is dropped if it shows no sign of life, or reads nothing (decision G1). */
export interface Patience {
  /** Pings in a row without a sign of life from the client; undefined for HTTP streams, whose clients send nothing. */
  readonly silentPings: number | undefined;
  /** Pings in a row during which the client read none of the bytes sent to it. */
  readonly stuckPings: number;
}

export interface ClientParts {
  readonly socket: ClientSocket;
  readonly batches: BatchCache;
  readonly patience: Patience;
  /** Generation of the change log when this client connected. */
  readonly generation: number;
  /**
   * Reports whether this client's offsets have expired: it receives changes, and the change log was restarted after it
   * connected (decision I1).
   */
  readonly isExpired: () => boolean;
  readonly join: (onMore: () => void) => FeedReader;
  /**
   * True for a client that did not resume from an offset. If it reads too slowly, it loses the oldest events (decision
   * G2).
   */
  readonly canLoseEvents: boolean;
  /** Reports whether the client wants an event; undefined if it wants all of them. */
  readonly wanted: ((entry: LogEntry) => boolean) | undefined;
  /** Reports whether the client's limited key may read an event at this moment; undefined for the owner. */
  readonly admits: ((entry: LogEntry) => boolean) | undefined;
  /** Requests that the client is served soon. */
  readonly wake: (client: Client) => void;
  /**
   * Called with the number of events that the client lost since the previous call (decision C7). Called once the client
   * has caught up, at each ping, and when the client leaves.
   */
  readonly onMissed: (missed: number) => void;
}

/** One client: its position in the feed, the bytes in transit to it, and its liveness. */
export class Client {
  readonly socket: ClientSocket;
  readonly #parts: ClientParts;
  readonly #reader: FeedReader;
  /** Entries taken from the feed that did not fit into the last batch. */
  #unsent: readonly LogEntry[] = NONE;
  /** The batch that was sent but not yet accepted by the operating system; undefined if there is none. */
  #sending: EventBatch | undefined;
  #takenUpTo: Position | undefined;
  #position: Position | undefined;
  #missedInBurst = 0;
  #drainedBytes = 0;
  #isHeard = true;
  #silentPings = 0;
  /** Number of batches sent so far. `#batchesAtPing` is its value at the previous ping. */
  #batches = 0;
  #batchesAtPing = 0;
  #stuckPings = 0;
  /** True while the details of the next event are being read. */
  #isPreparing = false;
  /** The error with which reading them failed, until `serve` throws it. */
  #failure: Error | undefined;

  constructor(parts: ClientParts) {
    this.socket = parts.socket;
    this.#parts = parts;
    this.#reader = parts.join(() => parts.wake(this));
  }

  /**
   * Sends the next batch, unless the previous one is still being sent or the next one is being prepared. Throws what
   * the feed throws, and the error with which preparing a batch failed.
   */
  serve(): void {
    if (!this.socket.isOpen()) return;
    const { wanted, admits, batches, generation, isExpired } = this.#parts;
    if (isExpired()) {
      this.socket.close('offset_expired');
      return;
    }
    if (this.#sending !== undefined || this.#isPreparing) return;
    const failure = this.#failure;
    this.#failure = undefined;
    if (failure !== undefined) throw failure;
    // The key's rights may have shrunk since the unsent entries were read.
    if (admits !== undefined) this.#unsent = this.#unsent.filter(admits);
    if (this.#unsent.length === 0) {
      const { entries, missed, upTo } = this.#reader.take(BATCH_SIZE);
      this.#takenUpTo = { offset: upTo, generation };
      this.#unsent = wanted === undefined ? entries : entries.filter(wanted);
      this.#missedInBurst += missed;
    }
    const batch = batches.front(this.#unsent);
    if (batch instanceof Promise) {
      this.#prepare(batch);
      return;
    }
    if (batch === undefined) {
      this.#position = this.#takenUpTo;
      // The filter may have rejected every entry taken. If the feed has more, serves this client again.
      if (!this.#reader.isCaughtUp()) this.#parts.wake(this);
      return;
    }
    this.#unsent = batch.texts.length === this.#unsent.length ? NONE : this.#unsent.slice(batch.texts.length);
    this.#position =
      this.#unsent.length === 0 || this.#takenUpTo === undefined
        ? this.#takenUpTo
        : { ...this.#takenUpTo, offset: batch.last.offset };
    this.#sending = batch;
    this.#batches += 1;
    if (this.socket.send(batch, this.#onDrain)) this.#noteDrained(batch);
  }

  /** Records a sign of life from the client. */
  noteHeard(): void {
    this.#isHeard = true;
  }

  /** Returns the reason to drop the client; undefined if there is none (decision G1). Called at every ping. */
  livenessError(): string | undefined {
    this.#countMissed();
    if (this.#drainedBytes >= LIVENESS_BYTES) this.#isHeard = true;
    this.#drainedBytes = 0;
    this.#silentPings = this.#isHeard ? 0 : this.#silentPings + 1;
    this.#isHeard = false;
    this.#stuckPings = this.#sending !== undefined && this.#batches === this.#batchesAtPing ? this.#stuckPings + 1 : 0;
    this.#batchesAtPing = this.#batches;
    const { silentPings = Number.POSITIVE_INFINITY, stuckPings } = this.#parts.patience;
    if (this.#silentPings >= silentPings) return 'it is silent';
    return this.#stuckPings >= stuckPings ? 'it reads nothing' : undefined;
  }

  ping(): void {
    this.socket.ping(this.#position);
  }

  leave(): void {
    try {
      this.#countMissed();
    } finally {
      this.#reader.close();
    }
  }

  /** Requests to be served again once the next batch is prepared. Other clients are served meanwhile. */
  #prepare(ready: Promise<unknown>): void {
    this.#isPreparing = true;
    const isPrepared = (): void => {
      this.#isPreparing = false;
      this.#parts.wake(this);
    };
    ready.then(isPrepared, (error: unknown) => {
      this.#failure = error instanceof Error ? error : new Error(String(error));
      isPrepared();
    });
  }

  readonly #onDrain = (): void => {
    // The client read what was sent, so it is alive.
    this.#isHeard = true;
    if (this.#sending !== undefined) this.#noteDrained(this.#sending);
  };

  #noteDrained(batch: EventBatch): void {
    this.#sending = undefined;
    this.#drainedBytes += batch.size;
    if (this.#unsent.length > 0 || !this.#reader.isCaughtUp()) this.#parts.wake(this);
    else this.#reportMissed();
  }

  /**
   * Counts and reports the events that this client has lost. `take(0)` counts them even for a client that reads nothing
   * and therefore takes no entries.
   */
  #countMissed(): void {
    if (this.#parts.canLoseEvents) this.#missedInBurst += this.#reader.take(0).missed;
    this.#reportMissed();
  }

  #reportMissed(): void {
    if (this.#missedInBurst > 0) this.#parts.onMissed(this.#missedInBurst);
    this.#missedInBurst = 0;
  }
}
