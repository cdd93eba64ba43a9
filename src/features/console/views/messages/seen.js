// The conversations opened in this browser. Postern never marks anything as read in Messages, so without this module
// the unread counts would not go down when a conversation is opened here.

/** @import { Conversation } from '../../../../core/model/conversation.ts' */

const NAME = 'postern-seen';
const KEPT = 500;

/**
 * Ids of the newest message seen, by conversation, in the order of opening. @type {Map<string, string>}
 */
const seen = new Map(read());

/** @returns {[string, string][]} */
function read() {
  try {
    const entries = JSON.parse(localStorage.getItem(NAME) ?? '[]');
    return Array.isArray(entries) ? entries.filter((one) => Array.isArray(one) && one.length === 2) : [];
  } catch {
    return [];
  }
}

/**
 * Returns a conversation's unread count. Returns 0 if this browser has shown the newest message, or if the user sent
 * it.
 * @param {Conversation} conversation
 */
export function unseenIn({ id, details }) {
  const last = details?.last_message;
  if (!details?.unread_count || !last || last.is_from_me) return 0;
  return seen.get(id) === last.id ? 0 : details.unread_count;
}

/**
 * Records that the newest message of a conversation is on the screen.
 * @param {Conversation | undefined} conversation
 */
export function noteSeen(conversation) {
  const last = conversation?.details?.last_message;
  if (conversation === undefined || !last) return;
  seen.delete(conversation.id);
  seen.set(conversation.id, last.id);
  for (const [id] of seen) {
    if (seen.size <= KEPT) break;
    seen.delete(id);
  }
  localStorage.setItem(NAME, JSON.stringify([...seen]));
}
