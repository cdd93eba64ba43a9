import type { Reach } from '../../core/model/port.ts';
import type { LimitedKey } from './limited-key.ts';
import { isListedAddress } from './limited-names.ts';
import { narrowed } from './narrowing.ts';
import type { ReadableChats } from './readable.ts';
import { MESSAGE } from './shown-members.ts';

/** Returns the reach of a key, by which features narrow their ports. `onRead` records the conversations that it reads. */
export function reachOf(
  key: LimitedKey,
  chats: ReadableChats,
  onRead: (conversationIds: ReadonlySet<string>) => void,
): Reach {
  return {
    keyId: key.stored.id,
    has: (scope) => key.stored.scopes.includes(scope),
    mayRead: (conversation) => chats.has(conversation),
    lists: (address) => isListedAddress(key.stored, address),
    readable: (ids) => chats.ids(ids),
    conversations: () => (chats.isUnlisted ? undefined : chats.guids()),
    read(messages) {
      const readable = chats.rows(messages, (message) => message);
      onRead(new Set(readable.map((message) => message.conversation_id)));
      return new Map(readable.map((message) => [message, narrowed(message, MESSAGE, chats)]));
    },
  };
}
