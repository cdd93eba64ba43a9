import type { Caller } from '../../domain/caller.ts';
import { isChatDbAway } from '../../domain/errors.ts';
import type { LogEntry } from '../../domain/event.ts';
import type { IncludeSet } from '../../domain/include.ts';
import type { ClientOffset } from '../../domain/offset.ts';
import type { Cancel, Clock, Log } from '../../domain/ports/host.ts';
import type { StreamRequest } from '../../domain/ports/streams.ts';
import { problem } from '../../domain/problems.ts';
import { BatchCache, type Framing } from './batch.ts';
import { Client, type ClientParts, type ClientSocket, type Patience } from './client.ts';

/** Longest time for serving clients before other work runs. */
const MAX_PASS_MS = 8;
/** Until the feed is asked again after chat.db was away (decision G3). */
const RETRY_MS = 1000;

/** How events are written to a connection. */
export interface Format {
  readonly framing: Framing;
  /** The text of one event, made of its JSON. */
  textOf(entry: LogEntry, json: string): string;
}

export interface StreamParts {
  readonly clock: Clock;
  readonly log: Log;
  /** Resolves when what is to be included, and what is after the offset, can be had; undefined when it can be now. */
  readonly ready: (include: IncludeSet, after?: ClientOffset) => Promise<void> | undefined;
}

/** What its clients have in common. */
export interface ClientKind {
  /** In the log. */
  readonly name: string;
  readonly pingEveryMs: number;
  readonly patience: Patience;
}

/** A request whose position is known to be good. */
export type Joining = Omit<ClientParts, 'socket' | 'patience' | 'wake' | 'onMissed'> & {
  readonly caller: Caller;
  /** Gives the place back that was taken. For callers that do not add the client in the end. */
  readonly giveUp: Cancel;
};

/**
 * Clients that are sent every event. Publishing notes which of them may have something to read, and one pass soon
 * after serves them all: a batch of events is written once for all clients at the same position.
 */
export class Clients {
  readonly #parts: StreamParts;
  readonly #kind: ClientKind;
  /** Clients with and without changes are sent other entries, and so have caches of their own. */
  readonly #batches = new Map<Format, Map<boolean, Map<IncludeSet, BatchCache>>>();
  readonly #clients = new Set<Client>();
  readonly #awake = new Set<Client>();
  /** Clients whose reader threw `chat_db_unavailable`. */
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

  /** Clients connected now, and events lost by slow ones since the start (decision C7). */
  get counts(): { readonly clients: number; readonly missed: number } {
    return { clients: this.#clients.size, missed: this.#missed };
  }

  /** Takes a place for a client. Throws an AppError while nothing has been answered yet (decision G3). */
  prepare({ after, changes, include, narrowing, caller }: StreamRequest, format: Format): Joining {
    if (this.#closing !== undefined) throw problem('shutting_down');
    const { feed } = caller;
    const wanted = feed.wanted(narrowing);
    const isOwn = caller.key !== undefined || wanted !== undefined;
    const position = after === undefined && !changes ? undefined : feed.resolve(after, { changes });
    // After resolving, which begins the log for the first who asks.
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

  /** Begins to send. The caller of this calls `leave` once the connection is gone. */
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

  /** Closes every client (decision A7) and terminates those that remain after `withinMs`. Twice is fine. */
  close(withinMs: number): Promise<void> {
    this.#closing ??= this.#close(withinMs);
    return this.#closing;
  }

  #batchesFor(
    { changes, include, caller }: Pick<StreamRequest, 'changes' | 'include' | 'caller'>,
    format: Format,
    isOwn: boolean,
  ): BatchCache {
    const made = (): BatchCache =>
      new BatchCache(format.framing, (entry) => format.textOf(entry, caller.json(entry, include)));
    // It has other events than the others, and a limited key sees other things in them.
    if (isOwn) return made();
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
