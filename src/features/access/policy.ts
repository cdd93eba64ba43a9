import { chatIdentity, normalAddress, rightsAddress } from '../../core/model/address.ts';
import type { AccessList, ClosedGroup, ListEntry } from '../../core/model/key.ts';
import type { ChatMembers } from '../../core/model/ports/directory-ports.ts';

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

/** Returns all ids of a chat. */
export function idsOf({ guid, otherIds = [] }: ChatMembers): readonly string[] {
  return [guid, ...otherIds];
}

/** Reports whether a key with this list may read the chat. */
export function mayRead(list: AccessList, chat: ChatMembers): boolean {
  if (chat.isClosed) return false;
  if (list === '*') return true;
  if (chat.isGroup) {
    return list.some((entry) => 'group' in entry && idsOf(chat).some((id) => isSameGroup(entry.group, id)));
  }
  const address = onlyMember(chat);
  return address !== undefined && list.some((entry) => 'address' in entry && entry.address === address);
}

/**
 * Resolves a recipient. Returns undefined if it is uncertain who would read the message, in which case a limited key
 * sends nothing.
 */
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

/** Reports whether a key with this send list may send to the destination. */
export function maySend(list: AccessList, destination: Destination): boolean {
  if (list === '*') return true;
  return list.some((entry) => isMeant(entry, destination) && joinedSince(entry, destination.members).length === 0);
}

/**
 * Returns the groups in the list that the key cannot send to because members joined after the owner listed the group.
 * Each group comes with the members who joined.
 */
export function closedGroups(
  list: AccessList,
  chatsOf: (id: string) => readonly ChatMembers[],
): readonly ClosedGroup[] {
  if (list === '*') return [];
  return list.flatMap((entry) => {
    if (!('group' in entry)) return [];
    const joined = joinedSince(entry, [
      ...new Set(chatsOf(entry.group).flatMap(({ members }) => members.map(normalAddress))),
    ]);
    return joined.length === 0 ? [] : [{ conversation_id: entry.group, joined }];
  });
}

/** Reports whether both lists are equal as sets. */
export function areSameMembers(one: readonly string[], other: readonly string[]): boolean {
  const set = new Set(one);
  return set.size === new Set(other).size && other.every((member) => set.has(member));
}

function isMeant(entry: ListEntry, { address, to, chats }: Destination): boolean {
  if ('address' in entry) return entry.address === address;
  return address === undefined && [to, ...chats].some((id) => isSameGroup(entry.group, id));
}

/** Returns the members of a group who joined after the owner listed the group. */
function joinedSince(entry: ListEntry, members: readonly string[]): readonly string[] {
  if (!('group' in entry)) return [];
  const known = new Set(entry.members);
  return members.filter((member) => !known.has(member));
}

function onlyMember({ isGroup, members }: ChatMembers): string | undefined {
  const keys = new Set(members.map(normalAddress));
  const [address] = keys;
  return isGroup || keys.size !== 1 || address === undefined ? undefined : rightsAddress(address);
}

function unknownPerson(recipient: string): Destination | undefined {
  const typed = rightsAddress(recipient);
  const person = typed === undefined ? personId(recipient) : { address: typed, id: typed };
  if (person === undefined) return undefined;
  return { to: person.id, address: person.address, chats: [], members: [person.address] };
}

/** Reports whether both ids name the same group, whichever service they begin with. */
export function isSameGroup(one: string, other: string): boolean {
  const [a, b] = [chatIdentity(one), chatIdentity(other)];
  return a?.style === '+' && b?.style === '+' && a.identifier === b.identifier;
}

/** Parses a one-to-one chat id with a known service and a canonical address; undefined for any other text. */
export function personId(id: string): { readonly address: string; readonly id: string } | undefined {
  const parts = chatIdentity(id);
  if (parts === undefined || parts.style !== '-' || !KNOWN_SERVICE.test(parts.service)) return undefined;
  const address = rightsAddress(parts.identifier);
  return address === undefined ? undefined : { address, id: `${parts.service};-;${address}` };
}
