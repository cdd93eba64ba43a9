import { groupId, withoutTags } from '../model/address.ts';
import type { Chat } from './chat.ts';
import type { Instant } from './columns.ts';
import { byRecency } from './conversation-position.ts';
import { newestCountedItem } from './message-list.ts';
import type { Snapshot } from './snapshot.ts';

/** Returns the chats that may be the one that an id means: the chat with this guid, else all that it may refer to. */
export function candidates(snapshot: Snapshot, id: string): readonly Chat[] {
  const named = snapshot.chatsNamed(id);
  return named.length === 1 ? named : snapshot.chatsWithId(id);
}

/** Returns the chat that an id means. Where the id is a guid, looks for no other. */
export function chatOf(snapshot: Snapshot, id: string): Chat | undefined {
  const named = snapshot.chatsNamed(id);
  return named.length === 1 ? named[0] : chatsOf(snapshot, id)[0];
}

/**
 * Returns the chats that an id may refer to: first the one whose guid it is, then those without a filter tag (decision
 * AB3), then by newest message (decision B4). An id that no chat has, but that looks like a group's, refers to that
 * group, and an address alone to the conversation with that person.
 */
export function chatsOf(snapshot: Snapshot, id: string): readonly Chat[] {
  const exact = snapshot.chatsWithId(id);
  const meant = groupId(id) ?? (id.includes(';') ? id : `any;-;${id}`);
  const chats = exact.length > 0 || meant === id ? exact : snapshot.chatsWithId(meant);
  if (chats.length < 2) return chats;
  return chats
    .map((chat) => ({ chat, chatId: chat.rowId, last: lastMessageAt(snapshot, chat), rank: rankOf(chat, id) }))
    .sort((a, b) => a.rank - b.rank || byRecency(a, b))
    .map(({ chat }) => chat);
}

function rankOf({ guid, otherIds }: Chat, id: string): number {
  if (guid === id || otherIds.includes(id)) return 0;
  return guid === withoutTags(guid) ? 1 : 2;
}

/** Returns the exact `last_message_at` of a chat; undefined if the chat has no row that counts (decision B12). */
export function lastMessageAt(snapshot: Snapshot, chat: Chat): Instant | undefined {
  return newestCountedItem(snapshot, chat)?.instant;
}
