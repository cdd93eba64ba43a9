import type { LogEntry } from '../domain/event.ts';
import type { FeedReader } from '../domain/ports/feed.ts';
import type { ClientSocket } from './client-socket.ts';
import type { FrameBatch, FrameCache } from './frame-batch.ts';

/** Entries taken from the feed at a time: what the publisher publishes at a stretch (C7). */
const BATCH_SIZE = 256;
/** Decision G1: pings, 30 s apart, that a client may leave unanswered or during which it may read nothing. */
const MAX_MISSED_PINGS = 2;
/**
 * Whoever takes this much between two pings is alive, though its pong stands behind the events: buffers alone can
 * take so much for a dead one a few times only, and then it is stuck.
 */
const LIVELY_BYTES = 1024 * 1024;
const NONE: readonly LogEntry[] = [];

export interface ClientParts {
  readonly outlet: ClientSocket;
  readonly runs: FrameCache;
  readonly join: (onMore: () => void) => FeedReader;
  /** A plain client: when it is too slow it loses the oldest (G2). */
  readonly mayMiss: boolean;
  /** Asks for `serve` to be called soon. */
  readonly wake: (client: Client) => void;
  /** The events this client lost in one burst, once it is over (C7). */
  readonly onMissed: (missed: number) => void;
}

/** One WebSocket client: its place in the feed, what it has been handed, and whether it is still there. */
export class Client {
  readonly outlet: ClientSocket;
  readonly #parts: ClientParts;
  readonly #reader: FeedReader;
  /** Taken from the feed and not handed over: what did not fit into the last run. */
  #held: readonly LogEntry[] = NONE;
  /** Handed over and not taken yet. */
  #sending: FrameBatch | undefined;
  #missedInBurst = 0;
  #takenBytes = 0;
  #isHeard = true;
  #silentPings = 0;
  /** Runs handed over, and how many it was at the last ping. */
  #runs = 0;
  #runsAtPing = 0;
  #stuckPings = 0;

  constructor(parts: ClientParts) {
    this.outlet = parts.outlet;
    this.#parts = parts;
    this.#reader = parts.join(() => parts.wake(this));
  }

  /** Hands over the next run, unless the client has yet to take the one before. Throws what the feed throws. */
  serve(): void {
    if (this.#sending !== undefined || !this.outlet.isOpen()) return;
    if (this.#held.length === 0) {
      const { entries, missed } = this.#reader.take(BATCH_SIZE);
      this.#held = entries;
      this.#missedInBurst += missed;
    }
    const run = this.#parts.runs.front(this.#held);
    if (run === undefined) return;
    this.#held = run.texts.length === this.#held.length ? NONE : this.#held.slice(run.texts.length);
    this.#sending = run;
    this.#runs += 1;
    if (this.outlet.send(run, this.#onRoom)) this.#noteTaken(run);
  }

  /** Something came from the client. */
  noteHeard(): void {
    this.#isHeard = true;
  }

  /** Called at every ping: what makes the client one to be dropped, if anything does (G1). */
  livenessError(): string | undefined {
    this.#countMissed();
    if (this.#takenBytes >= LIVELY_BYTES) this.#isHeard = true;
    this.#takenBytes = 0;
    this.#silentPings = this.#isHeard ? 0 : this.#silentPings + 1;
    this.#isHeard = false;
    this.#stuckPings = this.#sending !== undefined && this.#runs === this.#runsAtPing ? this.#stuckPings + 1 : 0;
    this.#runsAtPing = this.#runs;
    if (this.#silentPings >= MAX_MISSED_PINGS) return 'it is silent';
    return this.#stuckPings >= MAX_MISSED_PINGS ? 'it reads nothing' : undefined;
  }

  leave(): void {
    this.#countMissed();
    this.#reader.close();
  }

  readonly #onRoom = (): void => {
    // Only reading makes room: whoever catches up slowly is alive though its pongs stand behind the events.
    this.#isHeard = true;
    if (this.#sending !== undefined) this.#noteTaken(this.#sending);
  };

  #noteTaken(run: FrameBatch): void {
    this.#sending = undefined;
    this.#takenBytes += run.size;
    if (this.#held.length > 0 || !this.#reader.isCaughtUp()) this.#parts.wake(this);
    else this.#reportMissed();
  }

  /** Also what a client that takes nothing has lost by now. */
  #countMissed(): void {
    if (this.#parts.mayMiss) this.#missedInBurst += this.#reader.take(0).missed;
    this.#reportMissed();
  }

  #reportMissed(): void {
    if (this.#missedInBurst > 0) this.#parts.onMissed(this.#missedInBurst);
    this.#missedInBurst = 0;
  }
}
