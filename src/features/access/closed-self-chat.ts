import { chatIdentity, normalAddress, rightsAddress } from '../../core/model/address.ts';
import { personId } from '../../core/model/destination.ts';
import type { ChatDirectory, ChatMembers } from '../../core/model/ports/directory-ports.ts';

/**
 * Returns a directory in which the owner's self-chat is closed, so that no key's list opens it. Used while the owner
 * decides by tapback.
 */
export function selfChatClosed(directory: ChatDirectory, address: string): ChatDirectory {
  const marked = (chat: ChatMembers): ChatMembers => {
    const { guid, isGroup, members } = chat;
    const isNamed = !isGroup && normalAddress(chatIdentity(guid)?.identifier ?? '') === address;
    const isAlone = members.length > 0 && members.every((member) => normalAddress(member) === address);
    return isNamed || isAlone ? { ...chat, isClosed: true } : chat;
  };
  return {
    version: () => directory.version(),
    meant(recipient) {
      const isSelf = (rightsAddress(recipient) ?? personId(recipient)?.address) === address;
      const chats = directory.meant(recipient).map(marked);
      // Adds a closed chat. A self-chat without messages is not in chat.db yet, and a key must not create it.
      return isSelf ? [{ guid: recipient, isGroup: false, members: [], isClosed: true }, ...chats] : chats;
    },
    chat(guid) {
      const chat = directory.chat(guid);
      return chat && marked(chat);
    },
    withMember: (member) => directory.withMember(member).map(marked),
    closed: () =>
      [...directory.meant(address), ...directory.withMember(address)].map(marked).filter(({ isClosed }) => isClosed),
    conversationOf: (rowId) => directory.conversationOf(rowId),
    chatsOfRows: (rowIds) => directory.chatsOfRows(rowIds),
    hasOwnMessage: (guid) => directory.hasOwnMessage(guid),
  };
}
