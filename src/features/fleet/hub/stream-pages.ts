import type { JsMsg, OrderedConsumerOptions } from '@nats-io/jetstream';
import { brokerAway, type FleetConnection, type FleetParts } from '../protocol/connection.ts';
import { EVENTS, eventsOf } from '../protocol/subjects.ts';
import type { Place } from './place.ts';
import { type StreamEntry, storedAtMs, streamEntry } from './stream-entry.ts';
import type { StreamTail } from './stream-tail.ts';

const FETCH_MS = 3000;
/** How long the broker keeps the consumer of a hub that was killed. */
const INACTIVE_MS = 10_000;
/** Each page has a consumer at the broker while it is read. */
const MAX_READING = 16;

/** Reads past events from the broker, for clients that are too far behind for the ring. */
export class StreamPages {
  readonly #parts: FleetParts & { readonly tail: StreamTail };
  readonly #waiting: (() => void)[] = [];
  #reading = 0;

  constructor(parts: FleetParts & { readonly tail: StreamTail }) {
    this.#parts = parts;
  }

  /**
   * Returns the events after a place, of one member or of all, and up to where they have been seen. Throws
   * `broker_away`.
   */
  async after(place: Place, limit: number, member?: string) {
    while (this.#reading >= MAX_READING) await new Promise<void>((resolve) => void this.#waiting.push(resolve));
    this.#reading += 1;
    try {
      return await this.#read(place, limit, member);
    } catch (error) {
      if (!this.#parts.connection.isConnected) throw brokerAway();
      throw error;
    } finally {
      this.#reading -= 1;
      this.#waiting.shift()?.();
    }
  }

  /** Returns the place before the first event that was stored at this time or later. */
  async before(atMs: number): Promise<Place> {
    const { connection, tail } = this.#parts;
    const { last } = tail;
    const from = { opt_start_time: new Date(atMs).toISOString() };
    const { before: rowId, pending } = await readStream(connection, EVENTS, from, 0);
    if (pending === 0) {
      if (((await tail.stored({ last_by_subj: eventsOf() }))?.time.getTime() ?? 0) >= atMs) throw brokerAway();
      return last;
    }
    if (rowId >= last.rowId) return last;
    const found = rowId === 0 ? undefined : await tail.stored({ seq: rowId });
    return { ...tail.last, rowId, atMs: found?.time.getTime() ?? 0 };
  }

  async #read(place: Place, limit: number, member: string | undefined) {
    const { connection, envelope, tail } = this.#parts;
    const { last } = tail;
    const from = {
      opt_start_seq: place.rowId + 1,
      ...(member !== undefined && { filter_subjects: eventsOf(member) }),
    };
    const { messages, pending } = await readStream(connection, EVENTS, from, limit);
    if (messages.length === 0 && pending > 0) throw brokerAway();
    const entries: StreamEntry[] = [];
    let upTo = place;
    for (const message of messages) {
      // A consumer of a copy that does not have the place yet begins at the end of that copy.
      if (message.seq <= upTo.rowId) continue;
      upTo = { ...place, rowId: message.seq, atMs: storedAtMs(message) };
      const entry = streamEntry(message, upTo, envelope);
      if (entry !== undefined) entries.push(entry);
    }
    if (messages.length === pending && last.rowId > upTo.rowId && last.generation === place.generation) {
      const newest = await tail.stored({ last_by_subj: eventsOf(member) });
      // Everything of this member up to the end has been seen, not only up to its last event.
      if ((newest?.seq ?? 0) <= upTo.rowId) upTo = last;
    }
    return { entries, upTo };
  }
}

/**
 * Reads at most `limit` messages that a stream has now, with a consumer of its own. `pending` is the number of all that
 * it could read, and `before` the sequence before the first.
 */
export async function readStream(
  { js }: FleetConnection,
  stream: string,
  from: Partial<OrderedConsumerOptions>,
  limit = Number.POSITIVE_INFINITY,
): Promise<{ readonly messages: readonly JsMsg[]; readonly pending: number; readonly before: number }> {
  const consumer = await js.consumers.get(stream, { ...from, inactive_threshold: INACTIVE_MS });
  try {
    const { num_pending: pending, delivered } = await consumer.info(true);
    const wanted = Math.min(limit, pending);
    const messages: JsMsg[] = [];
    if (wanted > 0) {
      for await (const message of await consumer.fetch({ max_messages: wanted, expires: FETCH_MS })) {
        messages.push(message);
        if (messages.length === wanted) break;
      }
    }
    return { messages, pending, before: delivered.stream_seq };
  } finally {
    await consumer.delete().catch(() => false);
  }
}
