import type { Conversation } from './conversation.ts';
import type { Message } from './message.ts';
import type { NameLookup } from './ports/contacts.ts';
import type { Reaction } from './reaction.ts';

/** Address to name, for the addresses of one item that are known (decision K1). */
export type Names = Readonly<Record<string, string>>;

export function messageWithNames(message: Message, lookup: NameLookup): Message {
  const { sender, conversation_id, details } = message;
  const reactions = details?.reactions.map((reaction) => reaction.sender) ?? [];
  const repliedTo = details?.reply_to?.sender ?? '';
  return { ...message, names: namesOf([sender, partyOf(conversation_id), repliedTo, ...reactions], lookup) };
}

export function conversationWithNames(conversation: Conversation, lookup: NameLookup): Conversation {
  const { id, participants, details } = conversation;
  const sender = details?.last_message?.sender ?? '';
  return { ...conversation, names: namesOf([partyOf(id), ...participants, sender], lookup) };
}

export function reactionWithNames(reaction: Reaction, lookup: NameLookup): Reaction {
  const { sender, conversation_id } = reaction;
  return { ...reaction, names: namesOf([sender, partyOf(conversation_id)], lookup) };
}

/** The address in the id of a one-to-one conversation; "" in any other. */
function partyOf(conversationId: string): string {
  const at = conversationId.indexOf(';-;');
  return at < 0 ? '' : conversationId.slice(at + 3);
}

function namesOf(addresses: readonly string[], lookup: NameLookup): Names {
  const names = new Map<string, string>();
  for (const address of addresses) {
    const name = address === '' ? undefined : lookup.nameOf(address);
    if (name !== undefined) names.set(address, name);
  }
  return Object.fromEntries(names);
}
