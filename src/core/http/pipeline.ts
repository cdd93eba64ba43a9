import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Cancel, Clock, Log } from '../model/ports/host-ports.ts';

// Limits of each connection (decision O2).
const MAX_RUNNING = 16;
const MAX_WAITING = 2000;
const UNREAD_MS = 60_000;
/** Maximum number of waiting requests across all connections. Each takes some kilobytes of memory. */
const MAX_WAITING_TOTAL = 4000;
const CHECK_MS = 5000;

/**
 * Starts the work on a request. If the connection closes before the answer is complete, the pipeline calls `abandon` of
 * the returned object.
 */
type Start = () => { abandon(): void };

interface PipelinesParts {
  readonly clock: Clock;
  readonly log: Log;
}

/**
 * The pipelines of one service, and the total numbers of their running and waiting requests. Node's server bounds only
 * the answers that wait to be sent: of 2,000 pipelined requests, it starts 2,000 at once.
 */
export class Pipelines {
  readonly parts: PipelinesParts;
  waiting = 0;
  #running = 0;
  #onIdle: (() => void) | undefined;
  readonly #pipelines = new WeakMap<Socket, Pipeline>();

  constructor(parts: PipelinesParts) {
    this.parts = parts;
  }

  of(socket: Socket): Pipeline {
    let pipeline = this.#pipelines.get(socket);
    if (pipeline === undefined) {
      pipeline = new Pipeline(socket, this);
      this.#pipelines.set(socket, pipeline);
    }
    return pipeline;
  }

  countRunning(change: number): void {
    this.#running += change;
    if (this.#running === 0) this.#onIdle?.();
  }

  /** Calls `onIdle` once no request is running, possibly at once. */
  whenIdle(onIdle: () => void): void {
    this.#onIdle = onIdle;
    if (this.#running === 0) onIdle();
  }
}

/** The requests of one connection in order of arrival: up to 16 run, the others wait unstarted (decision O2). */
class Pipeline {
  readonly #socket: Socket;
  readonly #all: Pipelines;
  readonly #running = new Map<ServerResponse, ReturnType<Start>>();
  readonly #waiting: (readonly [ServerResponse, Start])[] = [];
  /** The callback that `whenAnswered` has not called yet; undefined if none is waiting. */
  #next: (() => void) | undefined;
  #isEnding = false;
  #cancelCheck: Cancel | undefined;
  #takenBytes = 0;
  #unreadSinceMs: number | undefined;

  constructor(socket: Socket, all: Pipelines) {
    this.#socket = socket;
    this.#all = all;
    socket.once('close', () => this.#close());
    // Pauses the socket again while requests wait here. Node resumes the socket when a request's body is read or an
    // answer has drained.
    socket.on('resume', () => {
      if (this.#waiting.length > 0 || this.#next !== undefined) socket.pause();
    });
  }

  add(response: ServerResponse, start: Start): void {
    // After the connection has ended, Node still delivers the requests in the rest of the last chunk.
    if (this.#socket.destroyed) return;
    if (this.#isEnding) {
      // `end` was called for the connection's last answer. Stops reading, because further requests would not be
      // answered.
      this.#socket.pause();
      return;
    }
    if (this.#running.size < MAX_RUNNING) this.#start(response, start);
    else if (this.#waiting.length < MAX_WAITING && this.#all.waiting < MAX_WAITING_TOTAL) {
      this.#waiting.push([response, start]);
      this.#all.waiting += 1;
      this.#socket.pause();
    } else this.#end('too many pipelined requests');
  }

  /**
   * Calls `next` once every request that has arrived completely is answered. Never calls `next` after the connection
   * has closed. Ignores further calls while one `next` waits. A `next` that had to wait runs with the socket paused.
   */
  whenAnswered(next: () => void): void {
    if (this.#next !== undefined) return;
    this.#next = next;
    if (this.#isBusy()) {
      // Node removes its own listeners from a socket that it releases for an upgrade. Earlier answers still need these
      // two listeners.
      this.#socket.on('drain', this.#onDrain).on('error', this.#onError);
    }
    this.#continue();
  }

  /** Like `whenAnswered`, but `next` writes the last answer on this connection. Later requests do not run. */
  end(next: () => void): void {
    if (this.#isEnding) return;
    this.#isEnding = true;
    this.whenAnswered(next);
  }

  readonly #onDrain = (): void => {
    const [first] = this.#running.keys();
    first?.emit('drain');
  };

  readonly #onError = (): void => void this.#socket.destroy();

  #start(response: ServerResponse, start: Start): void {
    this.#all.countRunning(1);
    const exchange = start();
    this.#running.set(response, exchange);
    response.once('close', () => {
      if (!this.#running.delete(response)) return;
      // When a connection closes, the first response emits `close` before `#close` runs. `#close` then no longer finds
      // that response's exchange, so the exchange is abandoned here.
      if (!response.writableFinished) exchange.abandon();
      this.#continue();
      this.#all.countRunning(-1);
    });
    this.#cancelCheck ??= this.#all.parts.clock.after(CHECK_MS, this.#check);
  }

  #continue(): void {
    if (this.#socket.destroyed) return;
    while (this.#running.size < MAX_RUNNING) {
      const first = this.#waiting.shift();
      if (first === undefined) break;
      this.#all.waiting -= 1;
      this.#start(...first);
      if (this.#waiting.length === 0 && this.#next === undefined) this.#socket.resume();
    }
    const next = this.#next;
    if (next === undefined || this.#isBusy()) return;
    this.#next = undefined;
    this.#socket.off('drain', this.#onDrain).off('error', this.#onError);
    next();
  }

  /**
   * Reports whether a request still needs its answer. Ignores a request whose body is incomplete, unless its answer has
   * begun.
   */
  #isBusy(): boolean {
    if (this.#waiting.length > 0) return true;
    return [...this.#running.keys()].some(({ req, headersSent }) => req.complete || headersSent);
  }

  readonly #check = (): void => {
    const { clock } = this.#all.parts;
    const { bytesWritten, writableLength } = this.#socket;
    const nowMs = clock.monotonic();
    const takenBytes = bytesWritten - writableLength;
    if (writableLength === 0) this.#unreadSinceMs = undefined;
    else if (takenBytes !== this.#takenBytes) this.#unreadSinceMs = nowMs;
    this.#takenBytes = takenBytes;
    if (this.#unreadSinceMs !== undefined && nowMs - this.#unreadSinceMs >= UNREAD_MS) {
      this.#end('an answer was not read for 60 s');
      return;
    }
    this.#cancelCheck = this.#running.size > 0 ? clock.after(CHECK_MS, this.#check) : undefined;
  };

  #end(reason: string): void {
    this.#all.parts.log.warn('closed a connection', { reason });
    this.#socket.destroy();
  }

  #close(): void {
    this.#cancelCheck?.();
    const running = [...this.#running.values()];
    this.#all.waiting -= this.#waiting.length;
    this.#running.clear();
    this.#waiting.length = 0;
    this.#next = undefined;
    // Node reports a closed connection only to the connection's first response, so the exchanges of later responses are
    // abandoned here.
    for (const exchange of running) exchange.abandon();
    this.#all.countRunning(-running.length);
  }
}
