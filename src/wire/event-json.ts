import type { MessageDetails } from '../domain/details.ts';
import type { LogEntry } from '../domain/event.ts';
import { type IncludeSet, NO_INCLUDES } from '../domain/include.ts';
import type { Message } from '../domain/message.ts';

/** The JSON of an event with what a client asked to have included. */
export type EventJson = (entry: LogEntry, include: IncludeSet) => string;

/** Serialises each event once for each combination of includes, however many webhooks and sockets are sent it. */
export function eventSerializer(readDetails: (message: Message) => MessageDetails | undefined): EventJson {
  const jsonOf = new Map<IncludeSet, WeakMap<LogEntry, string>>();

  function serialize(entry: LogEntry, include: IncludeSet): string {
    const { event } = entry;
    if (!include.has('details') || 'associated_message_type' in event.data) return plain(entry);
    // undefined when the row was deleted meanwhile.
    const details = readDetails(event.data);
    return details === undefined
      ? plain(entry)
      : JSON.stringify({ type: event.type, data: { ...event.data, details } });
  }

  function json(entry: LogEntry, include: IncludeSet): string {
    let cache = jsonOf.get(include);
    if (cache === undefined) {
      cache = new WeakMap();
      jsonOf.set(include, cache);
    }
    let text = cache.get(entry);
    if (text === undefined) {
      text = include === NO_INCLUDES ? JSON.stringify(entry.event) : serialize(entry, include);
      cache.set(entry, text);
    }
    return text;
  }

  const plain = (entry: LogEntry): string => json(entry, NO_INCLUDES);
  return json;
}
