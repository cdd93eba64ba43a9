import type { StreamInfo } from '@nats-io/jetstream';
import type { Core } from '../../../core/core.ts';
import type { MessageDetails } from '../../../core/model/details.ts';
import { isAppError } from '../../../core/model/errors.ts';
import type { LogEntry } from '../../../core/model/event.ts';
import { isShownByDefault } from '../../../core/model/narrowing.ts';
import type { Offset } from '../../../core/model/offset.ts';
import type { ConsumerTask, EventConsumer, Handled } from '../../../core/model/ports/feed-ports.ts';
import type { Cancel, Clock, Log } from '../../../core/model/ports/host-ports.ts';
import { Wakeup } from '../../../core/runtime/wakeup.ts';
import type { FleetConnection } from '../protocol/connection.ts';
import type { Envelope } from '../protocol/envelope.ts';
import { type EventBody, sealEvent } from '../protocol/event.ts';
import { every } from '../protocol/every.ts';
import { EVENTS, eventSubject, isTaken, MAX_EVENT_BYTES } from '../protocol/subjects.ts';
import type { FleetValues } from '../settings.ts';
import { eventBody, kindOf, withoutText } from './event-kind.ts';
import type { AgentStore } from './store.ts';
import { isSameStream, oldestMs, StreamCheck } from './stream-check.ts';

/** How often the publisher looks whether the stream is still the one to which it publishes. */
export const LOOK_MS = 3000;
const PAUSE_MS = 300;
/** Bytes that sealing and headers may add to an event, within the server's maximum. */
const ROOM_BYTES = 4096;
/** Stands for the sequence of an event that the stream had already. */
const TAKEN = 0;

export interface EventPublisherParts {
  readonly member: string;
  /** The seed of the Mac's nkey. */
  readonly seed: string;
  readonly machine: string;
  readonly connection: FleetConnection;
  readonly envelope: () => Envelope;
  readonly store: AgentStore;
  readonly clock: Clock;
  readonly log: Log;
  readonly core: Core;
  readonly values: FleetValues;
  /** False while another process with the name of this machine publishes. */
  readonly mayPublish: () => boolean;
}

/**
 * Publishes this Mac's events, each after the broker acknowledged the one before. The broker refuses what it has, so
 * publishing again is harmless, and chat.db is the buffer for what cannot be published.
 */
export class EventPublisher implements ConsumerTask<undefined> {
  readonly name = 'fleet';
  readonly #parts: EventPublisherParts;
  readonly #consumer: EventConsumer;
  readonly #check: StreamCheck;
  readonly #wakeup: Wakeup;
  /** The stream as the last check found it; undefined if it is in doubt. */
  #stream: StreamInfo | undefined;
  #failures = 0;
  #trouble: string | undefined;
  #isClosed = false;
  #cancelLook: Cancel = () => {};
  readonly #offConnection: readonly Cancel[];

  constructor(parts: EventPublisherParts) {
    const { connection, clock, core, values } = parts;
    this.#parts = parts;
    this.#check = new StreamCheck(parts);
    this.#wakeup = new Wakeup(clock);
    this.#consumer = core.feed.consume(this, { changes: values.changes });
    this.#offConnection = [connection.onConnect(() => this.doubt()), connection.onDisconnect(() => this.doubt())];
  }

  /** Why events cannot be published; undefined while they can. */
  get trouble(): string | undefined {
    return this.#trouble;
  }

  start(): void {
    this.#consumer.start();
    // Another leader, or a restored store, may have lost the end of the stream.
    this.#cancelLook = every(this.#parts.clock, LOOK_MS, async () => {
      if (await this.#isInDoubt()) this.doubt();
    });
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#cancelLook();
    for (const off of this.#offConnection) off();
    this.#consumer.stop();
    this.#wakeup.close();
    await this.#consumer.ended;
  }

  /** Makes the publisher ask, before the next event, whether it may publish and what the stream has. */
  doubt(): void {
    this.#stream = undefined;
    this.#wakeup.wake();
    this.#consumer.wake();
  }

  storedOffset(): Offset {
    this.#stream = undefined;
    const { store, core, values } = this.#parts;
    return store.position() ?? core.feed.lastPublished({ changes: values.changes });
  }

  readonly first = (): Promise<void> | undefined => (this.#stream === undefined ? this.#prepare() : undefined);

  async handle(entry: LogEntry): Promise<Handled<undefined>> {
    const stream = this.#stream;
    if (stream === undefined) return { isDone: false };
    if (!isShownByDefault(entry)) return { isDone: true };
    const { machine, store, connection } = this.#parts;
    try {
      const details = await this.#detailsOf(entry);
      if (isOlder(entry, details, oldestMs(stream, this.#parts.clock.now()))) {
        if (entry.change === undefined) store.addLate();
        return { isDone: true };
      }
      const subject = eventSubject(this.#parts, entry.guid, kindOf(entry, machine, details));
      const sequence = await this.#publish(subject, this.#seal(subject, entry, eventBody(entry, details)));
      if (stream !== this.#stream || !connection.isConnected) return { isDone: false };
      const before = store.mark();
      const known = before?.created === stream.created ? before.sequence : 0;
      // A new event behind the newest known one shows that the stream has lost its end.
      if (sequence !== TAKEN && sequence <= known) {
        this.doubt();
        return { isDone: false };
      }
      store.setMark({ created: stream.created, subject, sequence: Math.max(known, sequence) });
      this.#failures = 0;
      this.#trouble = undefined;
      return { isDone: true };
    } catch (error) {
      if (isAppError(error)) throw error;
      this.#failed(error);
      return { isDone: false };
    }
  }

  gone(): undefined {
    return undefined;
  }

  progress(offset: Offset): void {
    // Before a check, this run does not know what the stream has.
    if (this.#stream !== undefined) this.#parts.store.setPosition(offset);
  }

  /** Returns the event's sequence in the stream; `TAKEN` if the stream had it already. */
  async #publish(subject: string, sealed: Uint8Array): Promise<number> {
    const { js } = this.#parts.connection;
    try {
      return (await js.publish(subject, sealed, { expect: { streamName: EVENTS } })).seq;
    } catch (error) {
      if (isTaken(error)) return TAKEN;
      throw error;
    }
  }

  #seal(subject: string, entry: LogEntry, body: Readonly<Record<string, unknown>>): Uint8Array {
    const { envelope, machine, clock, connection, log } = this.#parts;
    const seal = (event: unknown): Uint8Array =>
      sealEvent(envelope(), subject, {
        ...{ event: event as EventBody, machine, row: entry.rowId, atMs: clock.now() },
        ...(entry.marks !== undefined && { marks: entry.marks }),
      });
    const whole = seal(body);
    const most = Math.min(MAX_EVENT_BYTES, connection.nc.info?.max_payload ?? MAX_EVENT_BYTES) - ROOM_BYTES;
    if (whole.length <= most) return whole;
    log.warn('an event is too large for the fleet and is published without its text', { row: entry.rowId });
    return seal(withoutText(body));
  }

  /** Only changes need details: for the value that both machines of a member know. */
  async #detailsOf({ event }: LogEntry): Promise<MessageDetails | undefined> {
    return event.type === 'message.updated' ? this.#parts.core.messages.details(event.data) : undefined;
  }

  async #prepare(): Promise<void> {
    const { connection, store, log, core, values } = this.#parts;
    if (this.#isClosed) return;
    if (!connection.isConnected || !this.#parts.mayPublish()) return this.#wakeup.wait();
    if (this.#failures > 0) await this.#wakeup.wait(PAUSE_MS);
    if (this.#isClosed || !connection.isConnected) return;
    try {
      // The first request for changes makes the feed detect them.
      if (values.changes) core.feed.resolve(undefined, { changes: true });
      const position = store.position();
      const { stream, after } = await this.#check.run(position);
      // Another process may have been heard meanwhile.
      if (!this.#parts.mayPublish()) return;
      if (after.rowId !== position?.rowId || after.change !== position.change) {
        log.info('publishing to the fleet', { after: after.rowId, before: position?.rowId ?? null });
      }
      this.#stream = stream;
      const mark = store.mark();
      // A stream that lost its end counts on from there, so that the next events come behind what was known.
      if (mark?.created === stream.created && mark.sequence > stream.state.last_seq) {
        store.setMark({ ...mark, sequence: stream.state.last_seq });
      }
      store.setPosition(after);
      this.#consumer.seek(after);
    } catch (error) {
      if (isAppError(error)) throw error;
      this.#failed(error);
    }
  }

  async #isInDoubt(): Promise<boolean> {
    const stream = this.#stream;
    if (stream === undefined || !this.#parts.connection.isConnected) return false;
    // Taken before asking: what is published meanwhile must not look like a cut stream.
    const mark = this.#parts.store.mark();
    try {
      return !isSameStream(stream, await this.#check.look(), mark);
    } catch {
      return false; // A publish that fails says so itself.
    }
  }

  #failed(error: unknown): void {
    this.#stream = undefined;
    this.#failures += 1;
    const reason = error instanceof Error ? error.message : String(error);
    // A single failure is no news: the next attempt usually succeeds.
    if (this.#failures === 1) return;
    if (reason !== this.#trouble) this.#parts.log.warn('events cannot be published to the fleet', { reason });
    this.#trouble = reason;
  }
}

/**
 * Reports whether the event is older than the stream keeps. The broker then no longer remembers it, so it would come
 * again at each check, and a second Mac that downloads history would cause events.
 */
function isOlder({ event, change }: LogEntry, details: MessageDetails | undefined, sinceMs: number): boolean {
  if (change === undefined && 'timestamp' in event.data) return Date.parse(event.data.timestamp) < sinceMs;
  const dates = [details?.retracted_at, details?.edited_at, details?.read_at, details?.delivered_at];
  const known = dates.flatMap((date) => (date ? [Date.parse(date)] : []));
  return known.length > 0 && Math.max(...known) < sinceMs;
}
