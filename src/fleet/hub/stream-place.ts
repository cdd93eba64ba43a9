import type { JetStreamManager, StreamInfo } from '@nats-io/jetstream';
import type { Log } from '../../domain/ports/host.ts';
import { EVENTS, HEADERS } from '../protocol/layout.ts';
import type { EventStore } from './event-store.ts';

/** The id of a message as the leader has it, because another server may lag. Returns undefined if there is none. */
export async function messageIdAt(jsm: JetStreamManager, sequence: number): Promise<string | undefined> {
  const found = await jsm.streams.getMessage(EVENTS.stream, { seq: sequence });
  return found === null ? undefined : (found.header.get(HEADERS.messageId) ?? '');
}

/** Reports whether one creation time of a stream is later than another. */
export function isNewerStream(one: string, other: string): boolean {
  const difference = Date.parse(one) - Date.parse(other);
  return difference > 0 || (difference === 0 && one > other);
}

/** Returns the sequence of the first message that is not copied, or that differs from what was. */
export async function firstToRead(
  jsm: JetStreamManager,
  { created, state }: StreamInfo,
  { store, log }: { readonly store: EventStore; readonly log: Log },
): Promise<number> {
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
    const copied = isLast ? position.messageId : store.index.messageIdAt(created, sequence);
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
