import type { ConsumerMessages, JetStreamManager, JsMsg, StreamInfo } from '@nats-io/jetstream';
import { millis } from '@nats-io/nats-core';
import { isAppError } from '../../../core/model/errors.ts';
import type { Cancel } from '../../../core/model/ports/host-ports.ts';
import { problem } from '../../../core/model/problems.ts';
import { Wakeup } from '../../../core/runtime/wakeup.ts';
import { readEventHeaders } from '../protocol/event-message.ts';
import { EVENTS, HEADERS } from '../protocol/layout.ts';
import type { HubParts } from './hub-parts.ts';
import type { ReceivedEvent, StoredEvent, StreamPlace } from './stored-event.ts';
import { contradicts, firstToRead, isInStep, isNewerStream, isSameMessage, messageAt } from './stream-place.ts';
import { withTimeLimit } from './time-limit.ts';

/** The heartbeat reveals a dead server within seconds. */
const CONSUME = { expires: 4000, idle_heartbeat: 1000, max_messages: 1000 } as const;
const MAX_BATCH = 256;
/** Interval at which the stream is compared with the copy. */
const CHECK_MS = 2000;
const RETRY_MS = 1000;

export interface StreamCopyParts extends HubParts {
  /** Called with new events, in order. Copying continues once the promise resolves. */
  readonly onEvents: (events: readonly StoredEvent[]) => Promise<void>;
  /**
   * Called with a message that is not a readable event, and the reason. Receives no body, so that no body reaches a
   * log.
   */
  readonly onRejected: (message: { readonly subject: string; readonly sequence: number }, reason: string) => void;
  /** Called every two seconds with the broker's report of the stream. */
  readonly onChecked: (info: StreamInfo) => void;
  /** Called with the last sequence before a gap in the sequences. The events after the gap are not stored yet. */
  readonly onSkipped: (sequence: number) => void;
}

/**
 * Copies the stream into hub.db, in order, with one ordered consumer. First compares the stream with the copy: if the
 * stream was recreated or lost its end, reads the stream again from the point where the two differ.
 */
export class StreamCopy {
  readonly #parts: StreamCopyParts;
  #messages: ConsumerMessages | undefined;
  #isClosed = false;
  /** Time since which the copy has been behind the stream; undefined while the copy is not behind. */
  #behindSinceMs: number | undefined;
  #isFilled: boolean;
  /** The place up to which each message was read, or was dropped by the stream before reading began. */
  #passed: Pick<StreamPlace, 'stream' | 'sequence'> | undefined;
  readonly #wakeup: Wakeup;
  #cancelCheck: Cancel | undefined;
  #cancelConnect: Cancel | undefined;
  #running: Promise<void> = Promise.resolve();
  #trouble: string | undefined = 'the stream was not read yet';
  readonly #progress: Wakeup;

  constructor(parts: StreamCopyParts) {
    this.#parts = parts;
    this.#wakeup = new Wakeup(parts.clock);
    this.#progress = new Wakeup(parts.clock);
    this.#isFilled = parts.store.position !== undefined;
  }

  /** Reports whether everything up to a place was read, or can no longer be read because the stream dropped it. */
  async hasPassed({ stream, sequence }: Pick<StreamPlace, 'stream' | 'sequence'>): Promise<boolean> {
    if (this.#passed?.stream !== stream) return false;
    if (this.#passed.sequence >= sequence) return true;
    const jsm = await this.#parts.connection.js.jetstreamManager(false);
    return (await messageAt(jsm, sequence)) === undefined;
  }

  /** False until an initially empty hub.db holds everything that the stream had when reading began. */
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

  /** Milliseconds since the copy was last level with the stream; 0 while it is level. */
  get behindMs(): number {
    return this.#behindSinceMs === undefined ? 0 : this.#parts.clock.monotonic() - this.#behindSinceMs;
  }

  #noteLevel(isLevel: boolean): void {
    if (isLevel) this.#behindSinceMs = undefined;
    else this.#behindSinceMs ??= this.#parts.clock.monotonic();
  }

  /**
   * Resolves once the place of an offset is copied. Returns undefined if it is already copied. If the stream does not
   * have the place and the copy matches the stream, resolves at once, because waiting would not help. Rejects with 503
   * `hub_behind` after `withinMs`.
   */
  reached(place: StreamPlace, withinMs: number): Promise<void> | undefined {
    return this.#includes(place) ? undefined : this.#awaitPlace(place, withinMs);
  }

  async #awaitPlace(place: StreamPlace, withinMs: number): Promise<void> {
    const { connection, clock, store } = this.#parts;
    const endMs = clock.monotonic() + withinMs;
    try {
      const jsm = await withTimeLimit(connection.js.jetstreamManager(false), clock, withinMs);
      const info = await withTimeLimit(jsm.streams.info(EVENTS.stream), clock, endMs - clock.monotonic());
      if (!(await this.#holds(jsm, info, place)) && (await isInStep(jsm, info, store))) return;
      await this.#until(() => this.#includes(place), endMs - clock.monotonic());
    } catch (error) {
      this.#parts.log.debug('the broker cannot be asked where an offset is in the stream', { error });
    }
    if (!this.#includes(place)) throw problem('hub_behind', {}, { headers: { 'Retry-After': '2' } });
  }

  /**
   * Reports whether the stream reaches as far as `place`. If the copy is past `place`, the stream must also have the
   * message of `place` there.
   */
  async #holds(jsm: JetStreamManager, { created, state }: StreamInfo, place: StreamPlace): Promise<boolean> {
    if (created !== place.stream || state.last_seq < place.sequence) return false;
    return !this.#isPast(place) || isSameMessage(await messageAt(jsm, place.sequence), place);
  }

  /** Reports whether the copy includes a place, or has moved on to a newer stream. */
  #includes(place: StreamPlace): boolean {
    return this.#isPast(place) && !contradicts(this.#parts.store, place);
  }

  #isPast({ stream, sequence }: StreamPlace): boolean {
    const { position } = this.#parts.store;
    if (position === undefined) return false;
    if (position.stream !== stream) return !isNewerStream(stream, position.stream);
    return Math.max(position.sequence, this.#passed?.stream === stream ? this.#passed.sequence : 0) >= sequence;
  }

  /** Resolves once `isFilled`, or after `withinMs`. */
  filled(withinMs: number): Promise<void> {
    return this.#until(() => this.#isFilled, withinMs);
  }

  async #until(isReached: () => boolean, withinMs: number): Promise<void> {
    const { clock } = this.#parts;
    const endMs = clock.monotonic() + withinMs;
    while (!isReached() && !this.#isClosed && clock.monotonic() < endMs) {
      await this.#progress.wait(endMs - clock.monotonic());
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#cancelConnect?.();
    this.#stopConsumer();
    this.#wakeup.close();
    this.#progress.close();
    await this.#running;
  }

  async #run(): Promise<void> {
    while (!this.#isClosed) {
      try {
        await this.#follow();
      } catch (error) {
        const reason = error instanceof Error ? error.message : String(error);
        if (reason !== this.#trouble && !isAppError(error)) {
          this.#parts.log.warn('the stream of events cannot be read, retrying', { reason });
        }
        this.#trouble = reason;
      }
      this.#stopConsumer();
      if (!this.#isClosed) await this.#wakeup.wait(this.#trouble === undefined ? 0 : RETRY_MS);
    }
  }

  /**
   * Copies the stream until the consumer ends. `#check` stops the consumer if the stream was recreated or lost its end.
   */
  async #follow(): Promise<void> {
    const { connection, store } = this.#parts;
    const jsm = await connection.js.jetstreamManager(false);
    // Waits for the list of Macs and pairs, because an event of a paired Mac may repeat an event of the other Mac.
    await this.#parts.macs.read();
    const info = await jsm.streams.info(EVENTS.stream);
    const from = await firstToRead(jsm, info, this.#parts);
    const consumer = await connection.js.consumers.get(EVENTS.stream, { opt_start_seq: from });
    const messages = await consumer.consume({ ...CONSUME });
    this.#messages = messages;
    this.#passed = { stream: info.created, sequence: from - 1 };
    if (this.#isClosed) return;
    void stopWhenReset(messages);
    this.#trouble = undefined;
    const isLevel = info.state.last_seq < from;
    this.#noteLevel(isLevel);
    this.#isFilled ||= isLevel;
    this.#parts.onChecked(info);
    this.#progress.wake();
    this.#checkLater(jsm);
    let batch: JsMsg[] = [];
    for await (const message of messages) {
      batch.push(message);
      const { pending } = message.info;
      // Waits for messages that are about to arrive, to store them in the same batch.
      if (batch.length < MAX_BATCH && pending > 0) continue;
      await this.#store(info.created, batch);
      batch = [];
      this.#noteLevel(pending === 0);
      this.#isFilled ||= message.seq >= info.state.last_seq;
      this.#progress.wake();
    }
    if (store.position === undefined) this.#noteLevel(false);
  }

  async #store(stream: string, messages: readonly JsMsg[]): Promise<void> {
    const { store, brokerClock, onEvents, onSkipped } = this.#parts;
    const last = messages.at(-1);
    if (last === undefined) return;
    const received = messages.flatMap((message) => this.#received(message) ?? []);
    const before = store.position;
    // A stream that replaces another one is read from sequence 1, so a higher first sequence is a gap as well.
    let next = before?.stream === stream ? before.sequence + 1 : 1;
    for (const { seq } of before === undefined ? [] : messages) {
      if (seq > next) onSkipped(next - 1);
      next = seq + 1;
    }
    const messageId = last.headers?.get(HEADERS.messageId) ?? '';
    const position = { stream, sequence: last.seq, messageId, atMs: storedAtMs(last) };
    const added = store.add(received, position, Math.floor(brokerClock.now()));
    this.#passed = { stream, sequence: last.seq };
    await onEvents(added);
  }

  /**
   * Returns the event in a message; undefined if it is unreadable. The Mac's next event then reveals that a row is
   * missing.
   */
  #received(message: JsMsg): ReceivedEvent | undefined {
    const { reader, onRejected } = this.#parts;
    const { subject, seq: sequence, headers, data: body } = message;
    const about = { subject, sequence };
    const found = readEventHeaders(subject, headers);
    if (found === undefined) {
      onRejected(about, 'the message does not have the headers of an event');
      return undefined;
    }
    const { mac, epoch, row, previousRow, previousSequence, type, id: messageId } = found;
    const atMs = storedAtMs(message);
    const event = { mac, epoch, row, previousRow, previousSequence, type, messageId, sequence, atMs, body };
    const sealed = { ...event, keyId: headers?.get(HEADERS.key) || null };
    try {
      return { ...sealed, read: reader.read(sealed) };
    } catch (error) {
      onRejected(about, (error as Error).message);
      return undefined;
    }
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

  async #check(jsm: JetStreamManager): Promise<boolean> {
    const info = await jsm.streams.info(EVENTS.stream);
    this.#parts.onChecked(info);
    return isInStep(jsm, info, this.#parts.store);
  }

  #stopConsumer(): void {
    this.#cancelCheck?.();
    this.#cancelCheck = undefined;
    this.#messages?.stop();
    this.#messages = undefined;
  }
}

/** Returns when the stream stored a message, Unix milliseconds. */
function storedAtMs({ info }: JsMsg): number {
  return millis(info.timestampNanos);
}

/**
 * Ends the consumer when the NATS client recreates it. The recreated consumer would continue at the next sequence,
 * which may hold another message if the broker was restored or the stream recreated.
 */
async function stopWhenReset(messages: ConsumerMessages): Promise<void> {
  for await (const { type } of messages.status()) {
    if (type === 'reset') messages.stop();
  }
}
