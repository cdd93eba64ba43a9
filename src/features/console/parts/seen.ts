// The conversations opened in this browser. Postern never marks anything as read in Messages, so without this module
// the unread counts would not go down when a conversation is opened here.

import type { Conversation } from '../../../core/model/conversation.ts';
import { newestConversations } from '../service/directory.ts';
import { placePath } from '../service/place.ts';
import { setBadge } from './frame.ts';

const NAME = `postern-seen${placePath && ` ${placePath}`}`;
const KEPT = 500;

const isEntry = (one: unknown): one is [string, string] => Array.isArray(one) && one.length === 2;

/** Ids of the newest message seen, by conversation, in the order of opening. */
let seen = new Map<string, string>(read());

function read(): [string, string][] {
  try {
    const entries: unknown = JSON.parse(localStorage.getItem(NAME) ?? '[]');
    return Array.isArray(entries) ? entries.filter(isEntry) : [];
  } catch {
    return [];
  }
}

/**
 * Returns a conversation's unread count. Returns 0 if this browser has shown the newest message, or if the user sent
 * it.
 */
export function unseenIn({ id, details }: Conversation): number {
  const last = details?.last_message;
  if (!details?.unread_count || !last || last.is_from_me) return 0;
  return seen.get(id) === last.id ? 0 : details.unread_count;
}

/** Records that the newest message of a conversation is on the screen. */
export function noteSeen(conversation: Conversation | undefined): void {
  const last = conversation?.details?.last_message;
  if (conversation === undefined || !last) return;
  // Another tab may have written since.
  seen = new Map(read());
  seen.delete(conversation.id);
  seen.set(conversation.id, last.id);
  for (const [id] of seen) {
    if (seen.size <= KEPT) break;
    seen.delete(id);
  }
  localStorage.setItem(NAME, JSON.stringify([...seen]));
}

const listeners = new Set<() => void>();

/** Calls `listener` once another tab has shown a conversation. */
export function onSeenElsewhere(listener: () => void): void {
  listeners.add(listener);
}

addEventListener('storage', ({ key }) => {
  if (key !== NAME) return;
  seen = new Map(read());
  for (const listener of listeners) listener();
});

/** True once the list of conversations counts what is unread. It knows more conversations than the newest. */
let isListed = false;

/** Shows the number of unread messages in these conversations. `isPart`: there are more conversations. */
function show(conversations: readonly Conversation[], isPart: boolean): void {
  setBadge(
    'messages',
    conversations.reduce((sum, one) => sum + unseenIn(one), 0),
    'unread messages',
    isPart,
  );
}

/** Shows the number of unread messages in the list of conversations. */
export function showUnread(listed: readonly Conversation[], isPart: boolean): void {
  isListed = true;
  show(listed, isPart);
}

/** Shows the number of unread messages in the newest conversations, unless the list of conversations does. */
export async function countUnread(): Promise<void> {
  if (isListed) return;
  const { items, next } = await newestConversations({ isByItself: true });
  if (!isListed) show(items, next !== undefined);
}
