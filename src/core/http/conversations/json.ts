import type { Conversation } from '../../model/conversation.ts';
import type { Names } from '../../model/names.ts';

interface Written {
  readonly conversation: Conversation;
  readonly json: string;
}

/**
 * Key: the `names` object of a conversation. Value: the cached JSON of that conversation. A change of the Address Book
 * or chat.db produces a new `names` object, so old entries are no longer found.
 */
const written = new WeakMap<Names, Written>();

/**
 * Returns the JSON of a list of conversations. If all of them have names and none has details, caches each
 * conversation's JSON, because it may contain a long list of names.
 */
export function conversationsJson(conversations: readonly Conversation[]): string {
  const areKept = conversations.every(({ names, details }) => names !== undefined && details === undefined);
  return areKept ? `[${conversations.map(conversationJson).join()}]` : JSON.stringify(conversations);
}

function conversationJson(conversation: Conversation): string {
  const { names } = conversation;
  const known = names && written.get(names);
  if (known !== undefined && isSame(known.conversation, conversation)) return known.json;
  const json = JSON.stringify(conversation);
  if (names !== undefined) written.set(names, { conversation, json });
  return json;
}

function isSame(a: Conversation, b: Conversation): boolean {
  return (
    a.id === b.id &&
    a.display_name === b.display_name &&
    a.participants === b.participants &&
    a.last_message_at === b.last_message_at
  );
}
