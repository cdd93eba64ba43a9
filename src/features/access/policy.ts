import type { ClosedGroup } from '../../client/key-types.ts';
import { chatIdentity, normalAddress, rightsAddress } from '../../core/model/address.ts';
import { type Destination, idsOf } from '../../core/model/destination.ts';
import type { AccessList, ListEntry } from '../../core/model/key.ts';
import type { ChatMembers } from '../../core/model/ports/directory-ports.ts';

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

/** Reports whether both ids name the same group, whichever service they begin with. */
export function isSameGroup(one: string, other: string): boolean {
  const [a, b] = [chatIdentity(one), chatIdentity(other)];
  return a?.style === '+' && b?.style === '+' && a.identifier === b.identifier;
}
