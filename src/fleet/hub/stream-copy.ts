import type { ConsumerMessages, JetStreamManager, JsMsg, StreamInfo } from '@nats-io/jetstream';
import { isAppError } from '../../domain/errors.ts';
import type { Event } from '../../domain/event.ts';
import type { Cancel, Clock, Log } from '../../domain/ports/host.ts';
import { Wakeup } from '../../runtime/wakeup.ts';
import type { FleetConnection } from '../protocol/connection.ts';
import { readEventHeaders } from '../protocol/event-message.ts';
import { EVENTS, HEADERS } from '../protocol/layout.ts';
import type { EventStore, ReceivedEvent, StoredEvent, StreamPlace } from './event-store.ts';

/** As long as one may wait for the broker to notice that a server died. */
const CONSUME = { expires: 4000, idle_heartbeat: 1000, max_messages: 1000 } as const;
const MAX_BATCH = 256;
/** How often it is checked that the stream still is what was copied. */
const CHECK_MS = 2000;
const RETRY_MS = 1000;
const NS_PER_MS = 1_000_000;

/** Rows that the stream lacks, though the Mac published them. */
export interface Hole {
  readonly mac: string;
  readonly epoch: string;
  /** Everything between these two is missing. */
  readonly after: number;
  readonly before: number;
}

/** A row that its Mac gave in place of the stream. */
export type Filled = Pick<ReceivedEvent, 'row' | 'type' | 'messageId' | 'keyId' | 'body'>;

export interface StreamCopyParts {
  readonly connection: FleetConnection;
  readonly store: EventStore;
  readonly clock: Clock;
  readonly log: Log;
  /** Called with what is new, in order; the next ones wait for it. */
  readonly onEvents: (events: readonly StoredEvent[]) => Promise<void>;
  /** What the body of a message says; throws what is wrong with it. */
  readonly read: (event: ReceivedEvent) => Event;
  /** Called with a message that is no event; why goes into the log, its body never. */
  readonly onRejected: (message: { readonly subject: string; readonly sequence: number }, reason: string) => void;
  /** The rows of a hole, as far as the Mac gives them. Never rejects. */
  readonly fill: (hole: Hole) => Promise<readonly Filled[]>;
  /** Called with what the broker says of the stream, at every check. */
  readonly onChecked?: (info: StreamInfo) => void;
}

/**
 * Copies the stream into hub.db, in order, with one ordered consumer. Before it goes on it looks whether the stream
 * still holds what it held: one that was created again, or lost its end, is read again from where it differs.
 */
export class StreamCopy {
  readonly #parts: StreamCopyParts;
  #messages: ConsumerMessages | undefined;
  #isClosed = false;
  #isCurrent = false;
  #isFilled: boolean;
  readonly #wakeup: Wakeup;
  #cancelCheck: Cancel | undefined;
  #cancelConnect: Cancel | undefined;
  #running: Promise<void> = Promise.resolve();
  #trouble: string | undefined = 'the stream was not read yet';
  readonly #waiting = new Set<() => void>();

  constructor(parts: StreamCopyParts) {
    this.#parts = parts;
    this.#wakeup = new Wakeup(parts.clock);
    this.#isFilled = parts.store.position !== undefined;
  }

  /** False until a hub.db that was empty has what the stream had when it was first read. */
  get isFilled(): boolean {
    return this.#isFilled;
  }

  start(): void {
    this.#cancelConnect = this.#parts.connection.onConnect(() => this.#wakeup.wake());
    this.#running = this.#run();
  }

  /** Why the stream is not being copied; undefined while it is. */
  get trouble(): string | undefined {
    return this.#trouble;
  }

  /** Whether everything up to this place is copied, or without one everything there is. */
  hasReached(place?: StreamPlace): boolean {
    if (this.#isCurrent) return true;
    const { position } = this.#parts.store;
    if (place === undefined || position === undefined) return false;
    return position.stream === place.stream && position.sequence >= place.sequence;
  }

  /** Resolves when this place is copied, or after `withinMs`; undefined when it is now, or is of another stream. */
  reached({ stream, sequence }: StreamPlace, withinMs: number): Promise<void> | undefined {
    return this.#until(() => {
      const position = this.#parts.store.position;
      return position === undefined ? this.#isCurrent : position.stream !== stream || position.sequence >= sequence;
    }, withinMs);
  }

  /** The same until `isFilled`. */
  filled(withinMs: number): Promise<void> | undefined {
    return this.#until(() => this.#isFilled, withinMs);
  }

  #until(isReached: () => boolean, withinMs: number): Promise<void> | undefined {
    if (isReached()) return undefined;
    return new Promise((resolve) => {
      const end = (): void => {
        cancel();
        this.#waiting.delete(look);
        resolve();
      };
      const look = (): void => {
        if (isReached()) end();
      };
      const cancel = this.#parts.clock.after(withinMs, end);
      this.#waiting.add(look);
    });
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#cancelConnect?.();
    this.#stopConsumer();
    this.#wakeup.close();
    await this.#running;
  }

  async #run(): Promise<void> {
    while (!this.#isClosed) {
      try {
        await this.#follow();
      } catch (error) {
        const reason = error instanceof Error ? error.message : String(error);
        if (reason !== this.#trouble && !isAppError(error)) {
          this.#parts.log.warn('the stream of events cannot be read, trying again', { reason });
        }
        this.#trouble = reason;
      }
      this.#stopConsumer();
      if (!this.#isClosed) await this.#wakeup.wait(this.#trouble === undefined ? 0 : RETRY_MS);
    }
  }

  /** Copies until the consumer ends, or the stream is found to be another one. */
  async #follow(): Promise<void> {
    const { connection, store } = this.#parts;
    const jsm = await connection.js.jetstreamManager(false);
    const info = await jsm.streams.info(EVENTS.stream);
    const from = await this.#firstToRead(jsm, info);
    const consumer = await connection.js.consumers.get(EVENTS.stream, { opt_start_seq: from });
    const messages = await consumer.consume({ ...CONSUME });
    this.#messages = messages;
    if (this.#isClosed) return;
    void stopWhenReset(messages);
    this.#trouble = undefined;
    this.#isCurrent = info.state.last_seq < from;
    this.#isFilled ||= this.#isCurrent;
    this.#parts.onChecked?.(info);
    for (const look of this.#waiting) look();
    this.#checkLater(jsm);
    let batch: JsMsg[] = [];
    for await (const message of messages) {
      batch.push(message);
      const { pending } = message.info;
      // Those that are on their way are stored with it.
      if (batch.length < MAX_BATCH && pending > 0) continue;
      await this.#store(info.created, batch);
      batch = [];
      this.#isCurrent = pending === 0;
      this.#isFilled ||= message.seq >= info.state.last_seq;
      for (const look of this.#waiting) look();
    }
    if (store.position === undefined) this.#isCurrent = false;
  }

  async #store(stream: string, messages: readonly JsMsg[]): Promise<void> {
    const { store, onEvents } = this.#parts;
    const last = messages.at(-1);
    if (last === undefined) return;
    const received: ReceivedEvent[] = [];
    for (const message of messages) received.push(...(await this.#received(message, received)));
    const position = { sequence: last.seq, messageId: last.headers?.get(HEADERS.messageId) ?? '' };
    const added = store.add(stream, received, position);
    if (added.length > 0) await onEvents(added);
  }

  /** The event of a message, and before it those of a hole that it shows. `unstored` come before it. */
  async #received(message: JsMsg, unstored: readonly ReceivedEvent[]): Promise<readonly ReceivedEvent[]> {
    const { store, fill, onRejected } = this.#parts;
    const { subject, seq: sequence, headers, data } = message;
    const read = readEventHeaders(subject, headers);
    if (read === undefined) {
      onRejected({ subject, sequence }, 'its headers are not those of an event');
      return [];
    }
    const { mac, epoch, row, previousRow, type, id: messageId } = read;
    const keyId = headers?.get(HEADERS.key) || null;
    const place = { mac, epoch, sequence, atMs: Math.floor(message.info.timestampNanos / NS_PER_MS) };
    const event = this.#checked({ ...place, row, type, messageId, keyId, body: data }, subject);
    if (event === undefined) return [];
    const last = unstored.findLast((one) => one.mac === mac && one.epoch === epoch);
    const after = last?.row ?? store.lastRow(mac, epoch);
    if (after === undefined || after >= previousRow || row <= after) return [event];
    const filled = await fill({ mac, epoch, after, before: row });
    const others = filled.map((one) => this.#checked({ ...place, ...one }, subject));
    return [...others.filter((one) => one !== undefined), event];
  }

  /** undefined for what cannot be read: it is not stored, so that the Mac is asked for it when the next one comes. */
  #checked(event: ReceivedEvent, subject: string): ReceivedEvent | undefined {
    const { read, onRejected } = this.#parts;
    try {
      return { ...event, read: read(event) };
    } catch (error) {
      onRejected({ subject, sequence: event.sequence }, (error as Error).message);
      return undefined;
    }
  }

  /** Sequence of the first message that is not copied, or that differs from what was. */
  async #firstToRead(jsm: JetStreamManager, { created, state }: StreamInfo): Promise<number> {
    const { store, log } = this.#parts;
    const { position } = store;
    const first = Math.max(1, state.first_seq);
    if (position === undefined) return first;
    if (position.stream !== created) {
      log.warn('the stream of events was created again; reading all of it');
      return first;
    }
    let sequence = Math.min(position.sequence, state.last_seq);
    for (let step = 1; sequence >= first; step *= 2) {
      const isLast = sequence === position.sequence;
      const copied = isLast ? position.messageId : store.messageIdAt(created, sequence);
      const found = copied === undefined ? undefined : await messageIdAt(jsm, sequence);
      if (found !== undefined && found === copied) {
        if (!isLast) log.warn('the stream of events lost its end; reading on from there', { sequence });
        return sequence + 1;
      }
      sequence -= step;
    }
    // What was copied has expired, and more may have.
    return position.sequence < first ? first : Math.max(first, Math.min(sequence, first));
  }

  #checkLater(jsm: JetStreamManager): void {
    this.#cancelCheck = this.#parts.clock.after(CHECK_MS, () => {
      void this.#check(jsm)
        .catch(() => true)
        .then((isSame) => {
          if (this.#cancelCheck === undefined) return;
          if (isSame) this.#checkLater(jsm);
          else this.#stopConsumer();
        });
    });
  }

  /** False when the stream is no longer the one that was copied. */
  async #check(jsm: JetStreamManager): Promise<boolean> {
    const { position } = this.#parts.store;
    const info = await jsm.streams.info(EVENTS.stream);
    this.#parts.onChecked?.(info);
    if (position === undefined) return true;
    if (info.created !== position.stream || info.state.last_seq < position.sequence) return false;
    if (info.state.first_seq > position.sequence) return true;
    return (await messageIdAt(jsm, position.sequence)) === position.messageId;
  }

  #stopConsumer(): void {
    this.#cancelCheck?.();
    this.#cancelCheck = undefined;
    this.#messages?.stop();
    this.#messages = undefined;
  }
}

/**
 * Ends the consumer instead of letting the client make it again: that one would go on at a sequence that may mean
 * something else by now.
 */
async function stopWhenReset(messages: ConsumerMessages): Promise<void> {
  for await (const { type } of messages.status()) {
    if (type === 'reset') messages.stop();
  }
}

/** From the leader: another server may not have it yet. undefined when there is none. */
async function messageIdAt(jsm: JetStreamManager, sequence: number): Promise<string | undefined> {
  const found = await jsm.streams.getMessage(EVENTS.stream, { seq: sequence });
  return found === null ? undefined : (found.header.get(HEADERS.messageId) ?? '');
}
