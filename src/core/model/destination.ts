import { chatIdentity, normalAddress, rightsAddress } from './address.ts';
import type { ChatDirectory, ChatMembers } from './ports/directory-ports.ts';

const KNOWN_SERVICE = /^(?:any|iMessage|SMS|RCS)$/i;

/** The target of a send, and everyone who will read it. */
export interface Destination {
  /** The recipient to pass to Messages: an address, or a chat id as chat.db stores it. */
  readonly to: string;
  /** The address of the other person in a one-to-one chat; undefined for a group. */
  readonly address: string | undefined;
  /** Ids of the chats in chat.db with this recipient; empty before the first message. */
  readonly chats: readonly string[];
  /** The people who will read the message, each once, as `normalAddress` writes them. Never empty. */
  readonly members: readonly string[];
}

/**
 * Resolves a recipient. Returns undefined if it is uncertain who would read the message, in which case a limited key
 * sends nothing.
 */
export function resolveRecipient(directory: ChatDirectory, recipient: string): Destination | undefined {
  const typed = rightsAddress(recipient) ?? recipient;
  return destinationOf(typed, directory.meant(typed));
}

/** Finds the destination among the chats that a recipient may refer to. Returns undefined if it is uncertain. */
export function destinationOf(recipient: string, chats: readonly ChatMembers[]): Destination | undefined {
  const [best] = chats;
  if (best === undefined) return unknownPerson(recipient);
  if (chats.some(({ members, isClosed }) => members.length === 0 || isClosed)) return undefined;
  const members = [...new Set(chats.flatMap(({ members }) => members.map(normalAddress)))];
  const guids = chats.flatMap(idsOf);
  if (chats.every(({ isGroup }) => isGroup)) return { to: best.guid, address: undefined, chats: guids, members };
  const [address, ...others] = members;
  // Messages may send to the address in the chat id instead of the member's address. If the two differ, it is uncertain
  // who would read the message.
  const isCertain = chats.every(({ guid }) => normalAddress(chatIdentity(guid)?.identifier ?? '') === address);
  if (chats.some(({ isGroup }) => isGroup) || others.length > 0 || address === undefined || !isCertain) {
    return undefined;
  }
  const to = recipient.includes(';') ? (personId(recipient)?.id ?? best.guid) : address;
  return { to, address, chats: guids, members };
}

/** Returns all ids of a chat. */
export function idsOf({ guid, otherIds = [] }: ChatMembers): readonly string[] {
  return [guid, ...otherIds];
}

/** Parses a one-to-one chat id with a known service and a canonical address; undefined for any other text. */
export function personId(id: string): { readonly address: string; readonly id: string } | undefined {
  const parts = chatIdentity(id);
  if (parts === undefined || parts.style !== '-' || !KNOWN_SERVICE.test(parts.service)) return undefined;
  const address = rightsAddress(parts.identifier);
  return address === undefined ? undefined : { address, id: `${parts.service};-;${address}` };
}

function unknownPerson(recipient: string): Destination | undefined {
  const typed = rightsAddress(recipient);
  const person = typed === undefined ? personId(recipient) : { address: typed, id: typed };
  if (person === undefined) return undefined;
  return { to: person.id, address: person.address, chats: [], members: [person.address] };
}
