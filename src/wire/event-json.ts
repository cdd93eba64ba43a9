import type { MessageDetails } from '../domain/details.ts';
import { type ChangeEvent, type Event, isChangeEvent, type LogEntry } from '../domain/event.ts';
import { type IncludeSet, NO_INCLUDES } from '../domain/include.ts';
import type { Message } from '../domain/message.ts';
import { messageWithNames, reactionWithNames } from '../domain/names.ts';
import type { NameLookup } from '../domain/ports/contacts.ts';

/** The JSON of an event with what a client asked to have included. */
export type EventJson = (entry: LogEntry, include: IncludeSet) => string;

/** Where the parts come from that can be included. */
export interface EventParts {
  /** undefined when the row is gone. */
  readonly details: (message: Message) => MessageDetails | undefined;
  readonly names: () => NameLookup;
}

interface Serialized {
  /** The names that were used, if any. */
  readonly names: NameLookup | undefined;
  readonly texts: WeakMap<LogEntry, string>;
}

/** Serialises each event once for each combination of includes, however many webhooks and sockets are sent it. */
export function eventSerializer(parts: EventParts): EventJson {
  const serialized = new Map<IncludeSet, Serialized>();

  function textsOf(include: IncludeSet): Serialized {
    const names = include.has('contacts') ? parts.names() : undefined;
    const known = serialized.get(include);
    if (known !== undefined && known.names === names) return known;
    const made = { names, texts: new WeakMap<LogEntry, string>() };
    serialized.set(include, made);
    return made;
  }

  return (entry, include) => {
    const { names, texts } = textsOf(include);
    let text = texts.get(entry);
    if (text === undefined) {
      text = JSON.stringify(include === NO_INCLUDES ? entry.event : withParts(entry.event, include, names, parts));
      texts.set(entry, text);
    }
    return text;
  };
}

function withParts(
  event: Event | ChangeEvent,
  include: IncludeSet,
  names: NameLookup | undefined,
  parts: EventParts,
): object {
  if (isChangeEvent(event)) return event;
  const { type, data } = event;
  if ('associated_message_type' in data) return { type, data: names ? reactionWithNames(data, names) : data };
  const details = include.has('details') ? parts.details(data) : undefined;
  const message = details === undefined ? data : { ...data, details };
  return { type, data: names ? messageWithNames(message, names) : message };
}
