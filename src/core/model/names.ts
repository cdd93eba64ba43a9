import type { Conversation } from './conversation.ts';
import type { MessageDetails } from './details.ts';
import type { Message } from './message.ts';
import type { NameLookup } from './ports/names-ports.ts';
import type { Reaction } from './reaction.ts';
import { eventSentence } from './sentence.ts';

/**
 * The names of the people in one message, reaction or conversation. Key: the address. Value: the name. Addresses
 * without a name are absent.
 */
export type Names = Readonly<Record<string, string>>;

/** The names found in one load of the Address Book. Cached because the same few addresses appear again and again. */
class FoundNames {
  /** Names for conversations. Key: the array of participants, which stays the same object until chat.db changes. */
  readonly byParticipants = new WeakMap<readonly string[], Names>();
  /** Names for messages and reactions. First key: the conversation id. Second key: the sender. */
  readonly #byParties = new Map<string, Map<string, Names>>();
  #count = 0;

  ofParties(sender: string, conversationId: string, find: () => Names): Names {
    const known = this.#byParties.get(conversationId)?.get(sender);
    if (known !== undefined) return known;
    if (this.#count >= MAX_REMEMBERED) {
      this.#byParties.clear();
      this.#count = 0;
    }
    const senders = this.#byParties.get(conversationId) ?? new Map<string, Names>();
    const names = find();
    this.#byParties.set(conversationId, senders.set(sender, names));
    this.#count += 1;
    return names;
  }
}

const found = new WeakMap<NameLookup, FoundNames>();
const MAX_REMEMBERED = 10_000;

/** Returns the addresses in the members that features add to the details. */
export type AddedPeople = (details: MessageDetails) => readonly string[];

const NOBODY: AddedPeople = () => [];

/** A copy with every member but those that may be absent, so that a new member does not compile until it is copied. */
type Copied<One, Absent extends keyof One> = Required<Omit<One, Absent>> & Pick<One, Absent>;

export function messageWithNames(
  message: Message,
  lookup: NameLookup,
  added = NOBODY,
): Copied<Message, 'details' | 'details_left_out'> {
  // Copies member by member: spreading the object takes longer than reading the row did.
  const { id, guid, conversation_id, sender, body, attachments, timestamp, is_from_me, status, details } = message;
  if (details === undefined) {
    const names = namesOfParties(message, lookup);
    return { id, guid, conversation_id, sender, body, attachments, timestamp, is_from_me, status, names };
  }
  const others = details.reactions.map((reaction) => reaction.sender);
  others.push(...added(details), ...(details.mentions ?? []), details.group_event?.who ?? '');
  if (details.reply_to !== null) others.push(details.reply_to.sender);
  const names = namesOf(others, lookup, sender, partyOf(conversation_id));
  const named = withSentence(message, details, names);
  return { id, guid, conversation_id, sender, body, attachments, timestamp, is_from_me, status, details: named, names };
}

function withSentence(message: Message, details: MessageDetails, names: Names): MessageDetails {
  const sentence = namedEvent(message, details, names);
  return sentence === undefined ? details : { ...details, sentence };
}

/**
 * Returns the sentence that describes a group event or a change of location sharing, with people's names. Returns
 * undefined for all other messages, because their sentences contain no names.
 */
function namedEvent(
  message: Pick<Message, 'sender' | 'is_from_me'>,
  event: Pick<MessageDetails, 'group_event' | 'location_share'>,
  names: Names,
): string | undefined {
  if (event.group_event === undefined && event.location_share === undefined) return undefined;
  return eventSentence(message, event, names);
}

export function conversationWithNames(conversation: Conversation, lookup: NameLookup): Copied<Conversation, 'details'> {
  const { id, display_name, participants, last_message_at, details } = conversation;
  if (details !== undefined) {
    const last = details.last_message ?? undefined;
    const names = namesOf(participants, lookup, partyOf(id), last?.sender, last?.group_event?.who);
    const sentence = last && namedEvent(last, last, names);
    const named =
      last === undefined || sentence === undefined ? details : { ...details, last_message: { ...last, sentence } };
    return { id, display_name, participants, last_message_at, details: named, names };
  }
  const { byParticipants } = foundNames(lookup);
  let names = byParticipants.get(participants);
  if (names === undefined) {
    names = namesOf(participants, lookup, partyOf(id));
    byParticipants.set(participants, names);
  }
  return { id, display_name, participants, last_message_at, names };
}

export function reactionWithNames(reaction: Reaction, lookup: NameLookup): Reaction {
  return { ...reaction, names: namesOfParties(reaction, lookup) };
}

function namesOfParties({ sender, conversation_id }: Message | Reaction, lookup: NameLookup): Names {
  return foundNames(lookup).ofParties(sender, conversation_id, () =>
    namesOf([sender, partyOf(conversation_id)], lookup),
  );
}

function foundNames(lookup: NameLookup): FoundNames {
  const known = found.get(lookup) ?? new FoundNames();
  found.set(lookup, known);
  return known;
}

/** Returns the address in the id of a one-to-one conversation; "" for other conversations. */
function partyOf(conversationId: string): string {
  const at = conversationId.indexOf(';-;');
  return at < 0 ? '' : conversationId.slice(at + 3);
}

/**
 * Returns the names for these addresses, keyed by address. An entry of `addressesOrIds` can also be the id of a
 * one-to-one conversation, which stands for the other person's address.
 */
export function namesFor(addressesOrIds: readonly string[], lookup: NameLookup): Names {
  return namesOf(
    addressesOrIds.map((one) => partyOf(one) || one),
    lookup,
  );
}

function namesOf(addresses: readonly string[], lookup: NameLookup, ...others: readonly (string | undefined)[]): Names {
  const names: Record<string, string> = {};
  const add = (address = ''): void => {
    const name = address === '' ? undefined : lookup.nameOf(address);
    // An address can be any text, even `__proto__`; assigning to that member would set the prototype of `names`.
    if (name !== undefined && address !== '__proto__') names[address] = name;
  };
  for (const address of addresses) add(address);
  for (const address of others) add(address);
  return names;
}
