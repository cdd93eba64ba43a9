/** A chat of chat.db, with the facts that decide which keys may read it or send to it. */
export interface ChatMembers {
  /** Exactly as stored. */
  readonly guid: string;
  /** The guids of the other chats that are this group (decision AB7). */
  readonly otherIds?: readonly string[];
  readonly isGroup: boolean;
  /** Addresses as stored, without the owner's own; empty if unknown. */
  readonly members: readonly string[];
  /** True if no limited key may read the chat or send to it, whatever the key's lists contain. */
  readonly isClosed?: true;
}

/** The chats of chat.db and their members. Every method throws `chat_db_unavailable` while chat.db is unreadable. */
export interface ChatDirectory {
  /**
   * Returns a value that changes with each commit to chat.db. As long as the value is unchanged, earlier results of the
   * other methods are valid.
   */
  version(): unknown;
  /**
   * Returns the chats that `recipient`, an address or a chat id, may refer to. Sorted in the order in which a send
   * tries the chats.
   */
  meant(recipient: string): readonly ChatMembers[];
  /** Returns the chat that has exactly this guid, also as one of several; undefined if there is none. */
  chat(guid: string): ChatMembers | undefined;
  /** Returns every chat with this member, one-to-one or group. */
  withMember(address: string): readonly ChatMembers[];
  /** Returns the chats that no limited key may read or send to, whatever the key's lists contain. */
  closed(): readonly ChatMembers[];
  /** Returns the conversation id of a row; undefined if the row no longer exists. */
  conversationOf(rowId: number): string | undefined;
  /** Returns the ids of all conversations that each row is in. Leaves out rows that are in none. */
  chatsOfRows(rowIds: readonly number[]): ReadonlyMap<number, readonly string[]>;
  /** Reports whether the owner has ever sent anything to this chat. */
  hasOwnMessage(guid: string): boolean;
}
