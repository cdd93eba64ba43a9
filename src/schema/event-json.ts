import type { EventView } from '../domain/caller.ts';
import type { MessageDetails } from '../domain/details.ts';
import type { ChangeEvent, Event, LogEntry } from '../domain/event.ts';
import { type IncludeSet, NO_INCLUDES } from '../domain/include.ts';
import type { Message } from '../domain/message.ts';
import { messageWithNames, reactionWithNames } from '../domain/names.ts';
import type { Offset } from '../domain/offset.ts';
import type { NameLookup } from '../domain/ports/contacts-ports.ts';
import type { Reaction, ReactionDetails } from '../domain/reaction.ts';

/** Serialises an event with the includes that a client requested. */
export type EventJson = (
  entry: LogEntry,
  include: IncludeSet,
  /** Narrows the included details and names to those that the receiver's limited key may see. */
  view?: EventView,
) => string;

/** Functions that look up the parts that a client can include, and encode offsets. */
export interface EventParts {
  /** Returns the details of a message; undefined if chat.db no longer has its row. */
  readonly details: (message: Message) => MessageDetails | undefined;
  /** Returns the details of a reaction; undefined for a tapback or a sticker, which have none. */
  readonly reactionDetails?: (reaction: Reaction) => ReactionDetails | undefined;
  readonly names: () => NameLookup;
  /** Encodes an offset as `EventFeed.offsetText` does. */
  readonly offsetText: (offset: Offset, generation: number) => string;
}

interface Serialized {
  /**
   * The names that `texts` contain; undefined without the include `contacts`. A change of the Address Book produces a
   * new lookup, and events are then serialised again.
   */
  readonly names: NameLookup | undefined;
  readonly texts: WeakMap<LogEntry['event'], string>;
}

/**
 * Returns a function that serialises each event once per combination of includes, and reuses the text for all
 * receivers. If a receiver has a limited key and requests includes, serialises the event for that receiver alone.
 */
export function eventSerializer(parts: EventParts): EventJson {
  const serialized = new Map<IncludeSet, Serialized>();

  function textsOf(include: IncludeSet): Serialized {
    const names = include.has('contacts') ? parts.names() : undefined;
    const known = serialized.get(include);
    if (known !== undefined && known.names === names) return known;
    const made = { names, texts: new WeakMap<LogEntry['event'], string>() };
    serialized.set(include, made);
    return made;
  }

  const textOf = (event: LogEntry['event'], include: IncludeSet, view: EventView | undefined): string => {
    if (view !== undefined && include !== NO_INCLUDES) return JSON.stringify(viewed(event, include, view, parts));
    const { names, texts } = textsOf(include);
    let text = texts.get(event);
    if (text === undefined) {
      text = JSON.stringify(include === NO_INCLUDES ? event : withParts(event, include, names, parts));
      texts.set(event, text);
    }
    return text;
  };

  return ({ event, offset, generation }, include, view) => {
    const text = textOf(event, include, view);
    if (generation === undefined) return text;
    // Entries for readers that asked for `changes` have a generation, and so do all entries at a hub. The JSON of such
    // an entry ends with its offset (decision I2).
    return `${text.slice(0, -1)},"offset":"${parts.offsetText(offset, generation)}"}`;
  };
}

/** Returns the event as one limited key may see it. */
function viewed(event: Event | ChangeEvent, include: IncludeSet, view: EventView, parts: EventParts): object {
  const names = include.has('contacts') ? view.names : undefined;
  const ofView = (message: Message): MessageDetails | undefined => {
    const found = parts.details(message);
    return found && view.details(found);
  };
  const ofReaction = (reaction: Reaction): ReactionDetails | undefined => {
    const found = parts.reactionDetails?.(reaction);
    return found && view.reactionDetails(found);
  };
  return withParts(event, include, names, { details: ofView, reactionDetails: ofReaction });
}

function withParts(
  event: Event | ChangeEvent,
  include: IncludeSet,
  names: NameLookup | undefined,
  parts: Pick<EventParts, 'details' | 'reactionDetails'>,
): object {
  if (event.type === 'message.removed' || event.type === 'messages.changed') return event;
  const { data } = event;
  if ('associated_message_type' in data) {
    const found = include.has('details') ? parts.reactionDetails?.(data) : undefined;
    const reaction = found === undefined ? data : { ...data, details: found };
    return { ...event, data: names ? reactionWithNames(reaction, names) : reaction };
  }
  const details = include.has('details') ? parts.details(data) : undefined;
  const message = details === undefined ? data : { ...data, details };
  return { ...event, data: names ? messageWithNames(message, names) : message };
}
