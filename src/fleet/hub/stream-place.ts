import type { JetStreamManager } from '@nats-io/jetstream';
import { EVENTS, HEADERS } from '../protocol/layout.ts';

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
