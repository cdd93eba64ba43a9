import type { JetStreamManager, StreamInfo } from '@nats-io/jetstream';
import type { Log } from '../../../core/model/ports/host-ports.ts';
import { EVENTS, HEADERS } from '../protocol/layout.ts';
import type { EventStore } from './event-store.ts';
import type { StreamMessage, StreamPlace } from './stored-event.ts';

/** The NATS client reports the time of a message in two ways, which may differ by a millisecond. */
const ROUNDING_MS = 1;

/**
 * Returns the message at a sequence of the stream; undefined if there is none. Asks the stream's leader, because
 * another server may lag behind.
 */
export async function messageAt(jsm: JetStreamManager, sequence: number): Promise<StreamMessage | undefined> {
  const found = await jsm.streams.getMessage(EVENTS.stream, { seq: sequence });
  return found === null
    ? undefined
    : { messageId: found.header.get(HEADERS.messageId) ?? '', atMs: found.time.getTime() };
}

/** Reports whether two messages are the same one, stored at the same time; false if either is undefined. */
export function isSameMessage(one: StreamMessage | undefined, other: StreamMessage | undefined): boolean {
  if (one === undefined || other === undefined) return false;
  return one.messageId === other.messageId && Math.abs(one.atMs - other.atMs) <= ROUNDING_MS;
}

/**
 * Reports whether the copy has a different message at the sequence of `place`, and never had the message of `place`. In
 * that case the stream has lost its end, either before or after it stored the message of `place`.
 */
export function contradicts(store: EventStore, place: StreamPlace): boolean {
  const copied = store.messageAt(place.stream, place.sequence);
  return copied !== undefined && !isSameMessage(copied, place) && store.numberAt(place) === undefined;
}

/**
 * Reports whether the hub can continue to copy the stream where its copy ends. It cannot if the stream was recreated or
 * has lost its newest messages. True if nothing was copied yet.
 */
export async function isInStep(
  jsm: JetStreamManager,
  { created, state }: StreamInfo,
  store: EventStore,
): Promise<boolean> {
  const { position } = store;
  if (position === undefined) return true;
  if (created !== position.stream || state.last_seq < position.sequence) return false;
  if (state.first_seq > position.sequence) return true;
  return isSameMessage(await messageAt(jsm, position.sequence), position);
}

/**
 * Reports whether the stream created at `one` is newer than the stream created at `other`. Both times have the form in
 * which the broker writes them.
 */
export function isNewerStream(one: string, other: string): boolean {
  const difference = Date.parse(one) - Date.parse(other);
  return difference > 0 || (difference === 0 && one > other);
}

/**
 * Returns the sequence from which to read. It is at most the sequence of the first message that is not copied or
 * differs from the copy. It may be lower, because the search goes back in growing steps.
 */
export async function firstToRead(
  jsm: JetStreamManager,
  { created, state }: StreamInfo,
  { store, log }: { readonly store: EventStore; readonly log: Log },
): Promise<number> {
  const { position } = store;
  const first = Math.max(1, state.first_seq);
  if (position === undefined) return first;
  if (position.stream !== created) {
    log.warn('the stream of events was recreated; reading all of it');
    return first;
  }
  let sequence = Math.min(position.sequence, state.last_seq);
  for (let step = 1; sequence >= first; step *= 2) {
    const copied = store.messageAt(created, sequence);
    if (copied !== undefined && isSameMessage(copied, await messageAt(jsm, sequence))) {
      if (sequence < position.sequence) {
        log.warn('the stream of events lost its end; continuing from there', { sequence });
      }
      return sequence + 1;
    }
    sequence -= step;
  }
  // No message was found both in the stream and in the copy, so all of the stream is read.
  return first;
}
