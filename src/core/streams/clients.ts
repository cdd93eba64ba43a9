import type { EventCaller } from '../model/caller.ts';
import { isAppError, isChatDbAway } from '../model/errors.ts';
import type { LogEntry } from '../model/event.ts';
import type { IncludeSet } from '../model/include.ts';
import type { Cancel, Clock, Log } from '../model/ports/host-ports.ts';
import type { StreamRequest } from '../model/ports/streams-ports.ts';
import { problem } from '../model/problems.ts';
import { BatchCache, type Framing } from './batch.ts';
import { Client, type ClientParts, type ClientSocket, type Patience } from './client.ts';

/**
 * Longest time for which one pass serves clients before other work runs. The next pass serves the remaining clients.
 */
const MAX_PASS_MS = 8;
/**
 * If chat.db was unavailable when a client was served, the client is served again after this time, in milliseconds
 * (decision G3).
 */
const RETRY_MS = 1000;

/** How events are written to a connection. */
export interface Format {
  readonly framing: Framing;
  /** Returns the text of one event, given its JSON. */
  textOf(entry: LogEntry, json: string): string;
}

export interface StreamParts {
  readonly clock: Clock;
  readonly log: Log;
  /**
   * Resolves once the requested includes are loaded. Returns undefined if there is nothing to wait for.
   */
  readonly ready: (include: IncludeSet) => Promise<void> | undefined;
}

/** The properties that all clients of one kind share. */
export interface ClientKind {
  /** The kind's name in the log. */
  readonly name: string;
  readonly pingEveryMs: number;
  readonly patience: Patience;
}

/** A client that `prepare` accepted and `add` will add. Its position has been checked. */
export type Joining = Omit<ClientParts, 'socket' | 'patience' | 'wake' | 'onMissed'> & {
  readonly caller: EventCaller;
  /** Releases the reserved slot if the client is never added. */
  readonly giveUp: Cancel;
};

/**
 * The connected clients of one kind. Publishing marks the clients that may have something to read. One pass soon
 * afterwards serves them all, so that a batch is framed once for all clients at the same position.
 */
export class Clients {
  readonly #parts: StreamParts;
  readonly #kind: ClientKind;
  /**
   * The caches of batches. Keys: the format, whether the clients receive changes, and the includes. Clients that differ
   * in one of these are sent different bytes.
   */
  readonly #batches = new Map<Format, Map<boolean, Map<IncludeSet, BatchCache>>>();
  readonly #clients = new Set<Client>();
  readonly #awake = new Set<Client>();
  /** Clients whose reader threw `chat_db_unavailable`. They are served again after `RETRY_MS`. */
  readonly #waiting = new Set<Client>();
  #isPassScheduled = false;
  #cancelPing: Cancel | undefined;
  #cancelAgain: Cancel | undefined;
  #accepted = 0;
  #missed = 0;
  #closing: Promise<void> | undefined;
  #onEmpty: (() => void) | undefined;

  constructor(parts: StreamParts, kind: ClientKind) {
    this.#parts = parts;
    this.#kind = kind;
  }

  /**
   * The number of connected clients, and the number of events that slow clients have lost since startup (decision C7).
   */
  get counts(): { readonly clients: number; readonly missed: number } {
    return { clients: this.#clients.size, missed: this.#missed };
  }

  /**
   * Reserves a slot for a client. If the client cannot be served, throws an AppError before any part of an answer is
   * sent.
   */
  async prepare({ after, changes, include, narrowing, caller }: StreamRequest, format: Format): Promise<Joining> {
    const { feed } = caller;
    const wanted = feed.wanted(narrowing);
    const isOwn = caller.key !== undefined || wanted !== undefined;
    const position = after === undefined && !changes ? undefined : await feed.resolve(after, { changes });
    if (this.#closing !== undefined) throw problem('shutting_down');
    // Must come after `resolve`, which starts the change log for the first client that asks for changes.
    const generation = feed.changeGeneration();
    return {
      caller,
      giveUp: caller.streams?.open() ?? (() => {}),
      batches: this.#batchesFor({ changes, include, caller }, format, isOwn),
      wanted,
      admits: caller.key && ((entry) => feed.admits(entry)),
      canLoseEvents: after === undefined,
      generation,
      isExpired: () => changes && feed.changeGeneration() !== generation,
      join: (onMore) =>
        after === undefined || position === undefined
          ? feed.live(onMore, { changes })
          : feed.resume(position, onMore, { changes, backpressure: true }),
    };
  }

  /** Adds a client and starts sending events to it. Call `leave` once its connection is gone. */
  add(
    { caller, giveUp, ...joining }: Joining,
    socket: ClientSocket,
  ): { readonly client: Client; readonly leave: () => void } {
    const { log, clock } = this.#parts;
    const { name, patience, pingEveryMs } = this.#kind;
    this.#accepted += 1;
    const number = this.#accepted;
    const client = new Client({
      ...joining,
      socket,
      patience,
      wake: (woken) => this.#wake(woken),
      onMissed: (missed) => {
        this.#missed += missed;
        log.warn(`a slow ${name} lost events`, { client: number, missed });
      },
    });
    this.#clients.add(client);
    const cancel = caller.onEnd?.(() => socket.close('key_ended'));
    this.#wake(client);
    this.#cancelPing ??= clock.after(pingEveryMs, () => this.#pingAll());
    return {
      client,
      leave: () => {
        cancel?.();
        giveUp();
        this.#leave(client);
      },
    };
  }

  /** Closes every client (decision A7), and after `withinMs` terminates the remaining ones. May be called twice. */
  close(withinMs: number): Promise<void> {
    this.#closing ??= this.#close(withinMs);
    return this.#closing;
  }

  #batchesFor(
    { changes, include, caller }: Pick<StreamRequest, 'changes' | 'include' | 'caller'>,
    format: Format,
    isOwn: boolean,
  ): BatchCache {
    const made = (maxCached?: number): BatchCache => {
      const textOf = (entry: LogEntry): string | Promise<string> => {
        const json = caller.json(entry, include);
        if (typeof json === 'string') return format.textOf(entry, json);
        return json.then((text) => format.textOf(entry, text));
      };
      return new BatchCache(format.framing, textOf, maxCached);
    };
    // A limited key or a filter changes which events this client receives, or their content, so its batches are not
    // shared.
    if (isOwn) return made(0);
    const ofFormat = this.#batches.get(format) ?? new Map<boolean, Map<IncludeSet, BatchCache>>();
    const ofChanges = ofFormat.get(changes) ?? new Map<IncludeSet, BatchCache>();
    const batches = ofChanges.get(include) ?? made();
    this.#batches.set(format, ofFormat.set(changes, ofChanges.set(include, batches)));
    return batches;
  }

  #leave(client: Client): void {
    client.leave();
    for (const set of [this.#clients, this.#awake, this.#waiting]) set.delete(client);
    if (this.#clients.size > 0) return;
    this.#cancelPing?.();
    this.#cancelPing = undefined;
    this.#onEmpty?.();
  }

  #wake(client: Client): void {
    this.#awake.add(client);
    if (this.#isPassScheduled) return;
    this.#isPassScheduled = true;
    setImmediate(() => this.#pass());
  }

  #pass(): void {
    this.#isPassScheduled = false;
    const { clock } = this.#parts;
    const endsAtMs = clock.monotonic() + MAX_PASS_MS;
    for (const client of this.#awake) {
      this.#awake.delete(client);
      this.#serve(client);
      if (clock.monotonic() < endsAtMs) continue;
      const [next] = this.#awake;
      if (next !== undefined) this.#wake(next);
      return;
    }
    for (const ofFormat of this.#batches.values()) {
      for (const ofChanges of ofFormat.values()) for (const batches of ofChanges.values()) batches.clear();
    }
  }

  #serve(client: Client): void {
    try {
      client.serve();
    } catch (error) {
      if (isChatDbAway(error)) {
        this.#waiting.add(client);
        this.#cancelAgain ??= this.#parts.clock.after(RETRY_MS, () => this.#wakeWaiting());
        return;
      }
      if (isAppError(error) && error.code === 'offset_expired') {
        client.socket.close('offset_expired');
        return;
      }
      this.#parts.log.error(`could not serve a ${this.#kind.name}`, { error });
      client.socket.close('failure');
    }
  }

  #wakeWaiting(): void {
    this.#cancelAgain = undefined;
    for (const client of this.#waiting) this.#wake(client);
    this.#waiting.clear();
  }

  #pingAll(): void {
    for (const client of this.#clients) {
      const reason = client.livenessError();
      if (reason === undefined) client.ping();
      else {
        this.#parts.log.info(`dropped a ${this.#kind.name}`, { reason });
        client.socket.terminate();
      }
    }
    this.#cancelPing = this.#parts.clock.after(this.#kind.pingEveryMs, () => this.#pingAll());
  }

  async #close(withinMs: number): Promise<void> {
    this.#cancelAgain?.();
    this.#pass();
    const emptied = new Promise<void>((resolve) => {
      this.#onEmpty = resolve;
      if (this.#clients.size === 0) resolve();
    });
    for (const client of this.#clients) client.socket.close('shutting_down');
    const cancelDeadline = this.#parts.clock.after(withinMs, () => {
      for (const client of this.#clients) client.socket.terminate();
    });
    await emptied;
    cancelDeadline();
  }
}
