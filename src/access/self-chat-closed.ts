import { chatIdentity, memberKey, rightsAddress } from '../domain/address.ts';
import type { ChatDirectory, ChatMembers } from '../domain/ports/access-ports.ts';
import { personId } from './policy.ts';

/** Narrows the directory for limited keys while the owner decides by tapback: no list opens the owner's self-chat. */
export function selfChatClosed(directory: ChatDirectory, address: string): ChatDirectory {
  const marked = (chat: ChatMembers): ChatMembers => {
    const { guid, isGroup, members } = chat;
    const isNamed = !isGroup && memberKey(chatIdentity(guid)?.identifier ?? '') === address;
    const isAlone = members.length > 0 && members.every((member) => memberKey(member) === address);
    return isNamed || isAlone ? { ...chat, isClosed: true } : chat;
  };
  return {
    version: () => directory.version(),
    meant(recipient) {
      const isSelf = (rightsAddress(recipient) ?? personId(recipient)?.address) === address;
      const chats = directory.meant(recipient).map(marked);
      // Before its first message the chat does not exist, and a key must not create it.
      return isSelf ? [{ guid: recipient, isGroup: false, members: [], isClosed: true }, ...chats] : chats;
    },
    chat(guid) {
      const chat = directory.chat(guid);
      return chat && marked(chat);
    },
    withMember: (member) => directory.withMember(member).map(marked),
    conversationOf: (rowId) => directory.conversationOf(rowId),
    hasOwnMessage: (guid) => directory.hasOwnMessage(guid),
  };
}
