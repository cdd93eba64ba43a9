import type { EventView } from '../model/caller.ts';
import type { MessageDetails } from '../model/details.ts';
import type { LogEntry } from '../model/event.ts';
import { type IncludeSet, NO_INCLUDES } from '../model/include.ts';
import type { Message } from '../model/message.ts';
import { type AddedPeople, messageWithNames, reactionWithNames } from '../model/names.ts';
import type { Offset } from '../model/offset.ts';
import type { NameLookup } from '../model/ports/names-ports.ts';
import type { Reaction, ReactionDetails } from '../model/reaction.ts';

/**
 * Serialises an event with the includes that a client requested. Returns a promise while the event's details are being
 * read; a later call then returns the text at once.
 */
export type EventJson = (
  entry: LogEntry,
  include: IncludeSet,
  /** Narrows the included details and names to those that the receiver's limited key may see. */
  view?: EventView,
) => string | Promise<string>;

/** Functions that look up the parts that a client can include, and encode offsets. */
export interface EventParts {
  /** Returns the details of a message; undefined if chat.db no longer has its row. */
  readonly details: (message: Message) => Promise<MessageDetails | undefined>;
  /** Returns the details of a reaction; undefined for a tapback or a sticker, which have none. */
  readonly reactionDetails?: (reaction: Reaction) => Promise<ReactionDetails | undefined>;
  readonly names: () => NameLookup;
  /** Default: nobody. */
  readonly people?: AddedPeople;
  /** Encodes an offset as `EventFeed.offsetText` does. */
  readonly offsetText: (offset: Offset, generation: number) => string;
}

type AnyEvent = LogEntry['event'];

/** The details of one event. At most one member is present, according to the event's type. */
interface KnownDetails {
  readonly ofMessage?: MessageDetails | undefined;
  readonly ofReaction?: ReactionDetails | undefined;
}

interface Serialized {
  /**
   * The names that `texts` contain; undefined without the include `contacts`. A change of the Address Book produces a
   * new lookup, and events are then serialised again.
   */
  readonly names: NameLookup | undefined;
  readonly texts: WeakMap<AnyEvent, string>;
}

/**
 * Returns a function that serialises each event once per combination of includes, and reuses the text for all
 * receivers. If a receiver has a limited key and requests includes, serialises the event for that receiver alone. Reads
 * the details of each event once.
 */
export function eventSerializer(parts: EventParts): EventJson {
  const serialized = new Map<IncludeSet, Serialized>();
  const details = new EventDetails(parts);

  function textsOf(include: IncludeSet): Serialized {
    const names = include.has('contacts') ? parts.names() : undefined;
    const known = serialized.get(include);
    if (known !== undefined && known.names === names) return known;
    const made = { names, texts: new WeakMap<AnyEvent, string>() };
    serialized.set(include, made);
    return made;
  }

  const textOf = (event: AnyEvent, include: IncludeSet, view: EventView | undefined): string => {
    const found = include.has('details') ? details.known(event) : undefined;
    if (view !== undefined && include !== NO_INCLUDES) {
      const names = include.has('contacts') ? view.names : undefined;
      return JSON.stringify(withParts(event, found && narrowed(found, view), names, parts.people));
    }
    const { names, texts } = textsOf(include);
    let text = texts.get(event);
    if (text === undefined) {
      text = JSON.stringify(include === NO_INCLUDES ? event : withParts(event, found, names, parts.people));
      texts.set(event, text);
    }
    return text;
  };

  const jsonOf = (
    { event, offset, generation }: LogEntry,
    include: IncludeSet,
    view: EventView | undefined,
  ): string => {
    const text = textOf(event, include, view);
    if (generation === undefined) return text;
    // Entries for readers that asked for `changes` have a generation, and so do all entries at a hub. The JSON of such
    // an entry ends with its offset.
    return `${text.slice(0, -1)},"offset":"${parts.offsetText(offset, generation)}"}`;
  };

  return (entry, include, view) => {
    const reading = include.has('details') ? details.read(entry.event) : undefined;
    return reading === undefined ? jsonOf(entry, include, view) : reading.then(() => jsonOf(entry, include, view));
  };
}

/** The details of events, each read once. */
class EventDetails {
  readonly #parts: EventParts;
  readonly #known = new WeakMap<AnyEvent, KnownDetails>();
  readonly #reading = new WeakMap<AnyEvent, Promise<void>>();

  constructor(parts: EventParts) {
    this.#parts = parts;
  }

  known(event: AnyEvent): KnownDetails | undefined {
    return this.#known.get(event);
  }

  /** Resolves once the details are known. Returns undefined if they already are, or if the event has none. */
  read(event: AnyEvent): Promise<void> | undefined {
    if (this.#known.has(event) || event.type === 'message.removed' || event.type === 'messages.changed') {
      return undefined;
    }
    let reading = this.#reading.get(event);
    if (reading === undefined) {
      reading = this.#read(event).finally(() => this.#reading.delete(event));
      this.#reading.set(event, reading);
    }
    return reading;
  }

  async #read(event: Exclude<AnyEvent, { readonly type: 'message.removed' | 'messages.changed' }>): Promise<void> {
    const { data } = event;
    const known = isReaction(data)
      ? { ofReaction: await this.#parts.reactionDetails?.(data) }
      : { ofMessage: await this.#parts.details(data) };
    this.#known.set(event, known);
  }
}

function isReaction(data: Message | Reaction): data is Reaction {
  return 'associated_message_type' in data;
}

/** Returns the details as one limited key may see them. */
function narrowed({ ofMessage, ofReaction }: KnownDetails, view: EventView): KnownDetails {
  return {
    ofMessage: ofMessage && view.details(ofMessage),
    ofReaction: ofReaction && view.reactionDetails(ofReaction),
  };
}

function withParts(
  event: AnyEvent,
  known: KnownDetails | undefined,
  names: NameLookup | undefined,
  people: AddedPeople | undefined,
): object {
  if (event.type === 'message.removed' || event.type === 'messages.changed') return event;
  const { data } = event;
  if (isReaction(data)) {
    const reaction = known?.ofReaction === undefined ? data : { ...data, details: known.ofReaction };
    return { ...event, data: names ? reactionWithNames(reaction, names) : reaction };
  }
  const message = known?.ofMessage === undefined ? data : { ...data, details: known.ofMessage };
  return { ...event, data: names ? messageWithNames(message, names, people) : message };
}
