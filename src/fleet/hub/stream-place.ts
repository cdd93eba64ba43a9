import type { JetStreamManager, StreamInfo } from '@nats-io/jetstream';
import type { Log } from '../../domain/ports/host.ts';
import { EVENTS, HEADERS } from '../protocol/layout.ts';
import type { EventStore } from './event-store.ts';

/** Returns the id of a message; undefined if there is none. Asks the leader, because another server may lag behind. */
export async function messageIdAt(jsm: JetStreamManager, sequence: number): Promise<string | undefined> {
  const found = await jsm.streams.getMessage(EVENTS.stream, { seq: sequence });
  return found === null ? undefined : (found.header.get(HEADERS.messageId) ?? '');
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
    const copied = isLast ? position.messageId : store.index.messageIdAt(created, sequence);
    const found = copied === undefined ? undefined : await messageIdAt(jsm, sequence);
    if (found !== undefined && found === copied) {
      if (!isLast) log.warn('the stream of events lost its end; continuing from there', { sequence });
      return sequence + 1;
    }
    sequence -= step;
  }
  // The stream no longer keeps what was copied, and may have dropped further messages.
  return position.sequence < first ? first : Math.max(first, Math.min(sequence, first));
}
