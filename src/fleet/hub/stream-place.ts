import type { JetStreamManager, StreamInfo } from '@nats-io/jetstream';
import type { Log } from '../../domain/ports/host.ts';
import { EVENTS, HEADERS } from '../protocol/layout.ts';
import type { EventStore } from './event-store.ts';
import type { StreamMessage } from './stored-event.ts';

/** The client reads a message's time in two ways, whose rounding may differ by a millisecond. */
const ROUNDING_MS = 1;

/** Returns a message; undefined if there is none. Asks the leader, because another server may lag behind. */
export async function messageAt(jsm: JetStreamManager, sequence: number): Promise<StreamMessage | undefined> {
  const found = await jsm.streams.getMessage(EVENTS.stream, { seq: sequence });
  return found === null
    ? undefined
    : { messageId: found.header.get(HEADERS.messageId) ?? '', atMs: found.time.getTime() };
}

/**
 * Reports whether two messages at one sequence are the same one. Equal ids are not enough: a restored broker may get
 * the same message again at the same sequence, after others that it lost for good.
 */
export function isSameMessage(one: StreamMessage | undefined, other: StreamMessage | undefined): boolean {
  if (one === undefined || other === undefined) return false;
  return one.messageId === other.messageId && Math.abs(one.atMs - other.atMs) <= ROUNDING_MS;
}

/** Reports whether a stream was created later than another one, by their creation times. */
export function isNewerStream(one: string, other: string): boolean {
  const difference = Date.parse(one) - Date.parse(other);
  return difference > 0 || (difference === 0 && one > other);
}

/** Returns the sequence of the first message that is not copied or differs from the copy. */
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
    const isLast = sequence === position.sequence;
    const copied = isLast ? position : store.index.messageAt(created, sequence);
    if (copied !== undefined && isSameMessage(copied, await messageAt(jsm, sequence))) {
      if (!isLast) log.warn('the stream of events lost its end; continuing from there', { sequence });
      return sequence + 1;
    }
    sequence -= step;
  }
  // The stream no longer keeps what was copied, and may have dropped further messages.
  return position.sequence < first ? first : Math.max(first, Math.min(sequence, first));
}
