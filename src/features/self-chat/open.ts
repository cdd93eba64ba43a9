import { MessagesDirectory } from '../../core/chatdb/public.ts';
import type { Core } from '../../core/core.ts';
import type { Running } from '../../core/feature.ts';
import { chatDbOwner } from './owner-in-chatdb.ts';
import { SELF_CHAT } from './port.ts';
import { SelfChat } from './self-chat.ts';
import { selfChatStore } from './store.ts';
import { Tapbacks } from './tapbacks.ts';

/** Opens the self-chat. `address` is the owner's own; "" for none. */
export function openSelfChat(core: Core, address: string): Running {
  const parts = {
    store: selfChatStore(core.state),
    directory: new MessagesDirectory(core.connection),
    owner: chatDbOwner(core.connection),
    sender: core.sender,
    feed: core.feed,
    clock: core.host.clock,
    log: core.host.log,
  };
  const chat = new SelfChat(parts, address);
  core.ports.provide(SELF_CHAT, { chat, tapbacks: new Tapbacks(parts, chat, address) });
  return {};
}
