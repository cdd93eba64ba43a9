import type { JsMsg } from '@nats-io/jetstream';
import { CHANGE_EVENT_TYPES, type LogEntry, ROW_EVENT_TYPES } from '../../../core/model/event.ts';
import type { Envelope } from '../protocol/envelope.ts';
import { type EventBody, openEvent } from '../protocol/event.ts';
import { memberOfSubject } from '../protocol/subjects.ts';
import type { Place } from './place.ts';

/** An event of the stream as an entry of a log. */
export interface StreamEntry extends LogEntry {
  readonly offset: Place;
  /** The event's subject, which is the same for every copy of the event. */
  readonly subject: string;
  readonly member: string;
  readonly machine: string;
}

const TYPES: ReadonlySet<string> = new Set([...ROW_EVENT_TYPES, ...CHANGE_EVENT_TYPES]);

/** Opens what the stream holds at `offset`. Returns undefined for what is no event of its member. */
export function streamEntry(message: Pick<JsMsg, 'subject' | 'data'>, offset: Place, envelope: Envelope) {
  const { subject } = message;
  const member = memberOfSubject(subject);
  try {
    const { event, machine, marks } = openEvent(envelope, subject, message.data);
    const checked = eventOf(event, member);
    if (checked === undefined) return undefined;
    const { rowId, generation } = offset;
    const entry = { offset, rowId, guid: '', generation, subject, member, machine, event: checked };
    return { ...entry, marks } satisfies StreamEntry;
  } catch {
    return undefined;
  }
}

/** The time at which the broker stored a message, in Unix milliseconds. */
export function storedAtMs({ info }: JsMsg): number {
  return Math.floor(info.timestampNanos / 1e6);
}

/**
 * Returns the event with its Mac. A Mac can write anything, so the members that filters read are checked; the rest
 * reaches clients as that Mac's word.
 */
function eventOf({ offset: _offset, ...event }: EventBody, mac: string): LogEntry['event'] | undefined {
  const { type, data } = event;
  const texts = ['conversation_id', 'sender', 'guid', 'id', 'first_id', 'last_id'].map((name) => data[name]);
  const isReadable =
    TYPES.has(type) &&
    texts.every((text) => text === undefined || typeof text === 'string') &&
    ['undefined', 'boolean'].includes(typeof data.is_from_me);
  return isReadable ? ({ ...event, data: { ...data, mac } } as unknown as LogEntry['event']) : undefined;
}
