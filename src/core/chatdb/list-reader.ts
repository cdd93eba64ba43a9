import type { Conversation } from '../model/conversation.ts';
import type { MessageDetails } from '../model/details.ts';
import { NO_INCLUDES } from '../model/include.ts';
import type { Message } from '../model/message.ts';
import type { ConversationQuery, MessageQuery, NamedChat, Page, ReadOptions } from '../model/ports/reading-ports.ts';
import type { Reaction, ReactionDetails } from '../model/reaction.ts';
import type { Connection } from './connection.ts';
import { conversationOf, type ListedPage, listedPage, shownPage } from './conversation-list.ts';
import { messageOf } from './message.ts';
import { detailsOf, withDetails } from './message-details.ts';
import { messagePage, NOTHING } from './message-page.ts';
import { namedChatsIn } from './named-chats.ts';
import { reactionDetailsOf } from './reaction-details.ts';
import type { Damage } from './read-around.ts';
import { RecentConversations, type StoredOrder } from './recent-conversations.ts';
import { rowIdOf } from './row-id.ts';

/** An order of the conversations, and the id of the chat.db file from which that order was read. */
export interface OrderOfFile {
  readonly fileId: string;
  readonly order: StoredOrder;
}

/**
 * Reads lists of any length, and details, which must be decoded. Runs in the reader thread, or in the main thread if
 * there is no reader thread.
 */
export class ListReader {
  readonly #connection: Connection;
  readonly #recent = new RecentConversations();

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  messages(query: MessageQuery): Page<Message> {
    return this.#connection.read((snapshot) => messagePage(snapshot, query));
  }

  message(id: string, { include = NO_INCLUDES }: ReadOptions = {}): Message | undefined {
    return this.#connection.read((snapshot) => {
      const rowId = rowIdOf(id, snapshot);
      const message = rowId === undefined ? undefined : messageOf(snapshot, rowId);
      return include.has('details') && message !== undefined ? withDetails(snapshot, message) : message;
    });
  }

  details(message: Message): MessageDetails | undefined {
    return this.#connection.read((snapshot) => detailsOf(snapshot, message));
  }

  reactionDetails(reaction: Reaction): ReactionDetails | undefined {
    return this.#connection.read((snapshot) => reactionDetailsOf(snapshot, reaction));
  }

  conversation(id: string, options: ReadOptions = {}): Conversation | undefined {
    return this.#connection.read((snapshot) => conversationOf(snapshot, id, options));
  }

  conversations(query: ConversationQuery): Page<Conversation> {
    return this.#connection.read((snapshot) => {
      const listed = listedPage(snapshot, this.#recent, query);
      return listed === undefined ? NOTHING : shownPage(snapshot, listed, query);
    });
  }

  /** Returns the conversations of a page whose order is known, with what `options` include. */
  listedConversations(listed: ListedPage, options: ReadOptions): Page<Conversation> {
    return this.#connection.read((snapshot) => shownPage(snapshot, listed, options));
  }

  chats(): readonly NamedChat[] {
    return this.#connection.read(namedChatsIn);
  }

  /** Finds the rows that cannot be read. */
  survey(): Damage {
    return this.#connection.survey();
  }

  /**
   * Returns the order of all conversations; undefined if this chat.db does not allow updating an order after a commit.
   */
  order(): OrderOfFile | undefined {
    return this.#connection.read((snapshot) => {
      const order = this.#recent.store(snapshot);
      return order && { fileId: this.#connection.fileId, order };
    });
  }
}
