import { AckPolicy, DeliverPolicy } from '@nats-io/jetstream';
import { nanos } from '@nats-io/nats-core';
import { brokerAway, type FleetConnection } from '../protocol/connection.ts';
import type { Envelope } from '../protocol/envelope.ts';
import { EVENTS, eventsOf, unlessMissing } from '../protocol/subjects.ts';
import type { Place } from './place.ts';
import { type StreamEntry, storedAtMs, streamEntry } from './stream-entry.ts';
import type { StreamTail } from './stream-tail.ts';

const FETCH_MS = 3000;
/** Each page has a consumer at the broker while it is read. */
const MAX_READING = 16;

export interface StreamPage {
  readonly entries: readonly StreamEntry[];
  readonly upTo: Place;
}

/** Reads past events from the broker, for clients that are too far behind for the ring. */
export class StreamPages {
  readonly #connection: FleetConnection;
  readonly #envelope: Envelope;
  readonly #tail: StreamTail;
  readonly #waiting: (() => void)[] = [];
  #reading = 0;

  constructor(parts: { readonly connection: FleetConnection; readonly envelope: Envelope; readonly tail: StreamTail }) {
    this.#connection = parts.connection;
    this.#envelope = parts.envelope;
    this.#tail = parts.tail;
  }

  /** Returns the events after a place, of one member or of all. Throws `broker_away`. */
  async after(place: Place, limit: number, member?: string): Promise<StreamPage> {
    if (this.#reading >= MAX_READING) await new Promise<void>((resolve) => void this.#waiting.push(resolve));
    this.#reading += 1;
    try {
      return await this.#read(place, limit, member);
    } catch (error) {
      if (!this.#connection.isConnected) throw brokerAway();
      throw error;
    } finally {
      this.#reading -= 1;
      this.#waiting.shift()?.();
    }
  }

  /** Returns the place before the first event that was stored at this time or later. */
  async before(atMs: number): Promise<Place> {
    const { last } = this.#tail;
    const manager = await this.#tail.manager();
    const made = await manager.consumers.add(EVENTS, {
      ...EPHEMERAL,
      deliver_policy: DeliverPolicy.StartTime,
      opt_start_time: new Date(atMs).toISOString(),
    });
    await manager.consumers.delete(EVENTS, made.name).catch(() => false);
    const rowId = made.delivered.stream_seq;
    return made.num_pending === 0 || rowId >= last.rowId ? last : this.at(rowId);
  }

  /** Returns the place of a sequence in the stream as it is now. */
  async at(rowId: number): Promise<Place> {
    const { stream, generation } = this.#tail.last;
    const manager = await this.#tail.manager();
    const found =
      rowId === 0 ? undefined : await unlessMissing(() => manager.streams.getMessage(EVENTS, { seq: rowId }));
    return { rowId, change: 0, stream, atMs: found?.time.getTime() ?? 0, generation };
  }

  async #read(place: Place, limit: number, member: string | undefined): Promise<StreamPage> {
    const { last } = this.#tail;
    const manager = await this.#tail.manager();
    const made = await manager.consumers.add(EVENTS, {
      ...EPHEMERAL,
      deliver_policy: DeliverPolicy.StartSequence,
      opt_start_seq: place.rowId + 1,
      ...(member !== undefined && { filter_subject: eventsOf(member) }),
    });
    try {
      const wanted = Math.min(limit, made.num_pending);
      const entries: StreamEntry[] = [];
      let upTo = place;
      if (wanted > 0) {
        const consumer = await this.#connection.js.consumers.get(EVENTS, made.name);
        let read = 0;
        for await (const message of await consumer.fetch({ max_messages: wanted, expires: FETCH_MS })) {
          upTo = { ...place, rowId: message.seq, atMs: storedAtMs(message) };
          const entry = streamEntry(message, upTo, this.#envelope);
          if (entry !== undefined) entries.push(entry);
          read += 1;
          if (read === wanted) break;
        }
        if (read === 0) throw brokerAway();
      }
      // Everything of this member up to the end has been seen, not only up to its last event.
      if (wanted === made.num_pending && last.rowId > upTo.rowId && last.generation === place.generation) upTo = last;
      return { entries, upTo };
    } finally {
      await manager.consumers.delete(EVENTS, made.name).catch(() => false);
    }
  }
}

const EPHEMERAL = {
  ack_policy: AckPolicy.None,
  mem_storage: true,
  num_replicas: 1,
  inactive_threshold: nanos(10_000),
} as const;
