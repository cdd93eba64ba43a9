import { chatIdentity, memberKey, rightsAddress } from '../domain/address.ts';
import type { ChatDirectory, ChatMembers } from '../domain/ports/access.ts';
import { personId } from './address.ts';

/** The chats for limited keys while the owner decides by tapback: no list opens the owner's self-chat. */
export class SelfChatClosed implements ChatDirectory {
  readonly #directory: ChatDirectory;
  readonly #address: string;

  constructor(directory: ChatDirectory, address: string) {
    this.#directory = directory;
    this.#address = address;
  }

  version(): unknown {
    return this.#directory.version();
  }

  meant(recipient: string): readonly ChatMembers[] {
    const isSelf = (rightsAddress(recipient) ?? personId(recipient)?.address) === this.#address;
    const chats = this.#directory.meant(recipient).map((chat) => this.#marked(chat));
    // Before its first message the chat does not exist, and a key must not create it.
    return isSelf ? [{ guid: recipient, isGroup: false, members: [], isClosed: true }, ...chats] : chats;
  }

  chat(guid: string): ChatMembers | undefined {
    const chat = this.#directory.chat(guid);
    return chat && this.#marked(chat);
  }

  withMember(address: string): readonly ChatMembers[] {
    return this.#directory.withMember(address).map((chat) => this.#marked(chat));
  }

  conversationOf(rowId: number): string | undefined {
    return this.#directory.conversationOf(rowId);
  }

  hasOwnMessage(guid: string): boolean {
    return this.#directory.hasOwnMessage(guid);
  }

  #marked(chat: ChatMembers): ChatMembers {
    const { guid, isGroup, members } = chat;
    const isNamed = !isGroup && memberKey(chatIdentity(guid)?.identifier ?? '') === this.#address;
    const isAlone = members.length > 0 && members.every((member) => memberKey(member) === this.#address);
    return isNamed || isAlone ? { ...chat, isClosed: true } : chat;
  }
}
