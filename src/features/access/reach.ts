import { mayCallBack } from '../../core/model/callback-hosts.ts';
import type { Reach } from '../../core/model/port.ts';
import type { Audit } from './audit.ts';
import type { LimitedKey } from './limited-key.ts';
import { isListedAddress } from './limited-names.ts';
import { narrowed } from './narrowing.ts';
import type { ReadableChats } from './readable.ts';
import type { ShownRows } from './shown-messages.ts';

interface ReachParts {
  readonly chats: ReadableChats;
  /** Records what the key reads through the ports. */
  readonly audit: Audit;
  readonly shown: ShownRows;
}

/** Returns the reach of a key, by which features narrow their ports. */
export function reachOf(key: LimitedKey, { chats, audit, shown }: ReachParts): Reach {
  const keyId = key.stored.id;
  return {
    keyId,
    has: (scope) => key.stored.scopes.includes(scope),
    mayRead: (conversation) => chats.has(conversation),
    mayCallBack: (url) => mayCallBack(key.stored.callback_hosts, url),
    noteCallback: (target, outcome) => audit.note({ keyId, action: 'webhook', target, outcome }),
    lists: (address) => isListedAddress(key.stored, address),
    readable: (ids) => chats.ids(ids),
    conversations: () => (chats.isUnlisted ? undefined : chats.guids()),
    closed: () => chats.closed(),
    read(messages) {
      const readable = chats.rows(messages, (message) => message);
      audit.noteRead(keyId, 'read', new Set(readable.map((message) => message.conversation_id)));
      return new Map(readable.map((message) => [message, narrowed(message, shown.message, chats)]));
    },
  };
}
