import type { Conversation } from './conversation.ts';
import type { Message } from './message.ts';
import type { NameLookup } from './ports/contacts.ts';
import type { Reaction } from './reaction.ts';

/** Address to name, for the addresses of one item that are known (decision K1). */
export type Names = Readonly<Record<string, string>>;

/** Most messages of a page share sender and conversation, and so their names: by both of them. */
const remembered = new WeakMap<NameLookup, Map<string, Names>>();
const MAX_REMEMBERED = 10_000;

export function messageWithNames(message: Message, lookup: NameLookup): Message {
  // Each member by itself: a spread takes longer than reading the row did.
  const { id, guid, conversation_id, sender, body, attachments, timestamp, is_from_me, status, details } = message;
  if (details === undefined) {
    const names = namesOfParties(message, lookup);
    return { id, guid, conversation_id, sender, body, attachments, timestamp, is_from_me, status, names };
  }
  const others = details.reactions.map((reaction) => reaction.sender);
  if (details.reply_to !== null) others.push(details.reply_to.sender);
  const names = namesOf(others, lookup, sender, partyOf(conversation_id));
  return { id, guid, conversation_id, sender, body, attachments, timestamp, is_from_me, status, details, names };
}

export function conversationWithNames(conversation: Conversation, lookup: NameLookup): Conversation {
  const { id, display_name, participants, last_message_at, details } = conversation;
  const names = namesOf(participants, lookup, partyOf(id), details?.last_message?.sender);
  if (details === undefined) return { id, display_name, participants, last_message_at, names };
  return { id, display_name, participants, last_message_at, details, names };
}

export function reactionWithNames(reaction: Reaction, lookup: NameLookup): Reaction {
  return { ...reaction, names: namesOfParties(reaction, lookup) };
}

function namesOfParties({ sender, conversation_id }: Message | Reaction, lookup: NameLookup): Names {
  let known = remembered.get(lookup);
  if (known === undefined || known.size >= MAX_REMEMBERED) {
    known = new Map();
    remembered.set(lookup, known);
  }
  const key = `${sender}\n${conversation_id}`;
  let names = known.get(key);
  if (names === undefined) {
    names = namesOf([sender, partyOf(conversation_id)], lookup);
    known.set(key, names);
  }
  return names;
}

/** The address in the id of a one-to-one conversation; "" in any other. */
function partyOf(conversationId: string): string {
  const at = conversationId.indexOf(';-;');
  return at < 0 ? '' : conversationId.slice(at + 3);
}

function namesOf(addresses: readonly string[], lookup: NameLookup, ...others: readonly (string | undefined)[]): Names {
  const names: Record<string, string> = {};
  const add = (address = ''): void => {
    const name = address === '' ? undefined : lookup.nameOf(address);
    // Nobody's address is a word that means something to JavaScript.
    if (name !== undefined && address !== '__proto__') names[address] = name;
  };
  for (const address of addresses) add(address);
  for (const address of others) add(address);
  return names;
}
