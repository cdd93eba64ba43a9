import type { Conversation } from '../../domain/conversation.ts';
import type { MessageDetails } from '../../domain/details.ts';
import { NO_INCLUDES } from '../../domain/include.ts';
import type { Message } from '../../domain/message.ts';
import type { OneToOneChat } from '../../domain/ports/people-ports.ts';
import type {
  ConversationQuery,
  MessageQuery,
  MessageReader,
  Page,
  ReadOptions,
} from '../../domain/ports/reading-ports.ts';
import type { Reaction, ReactionDetails } from '../../domain/reaction.ts';
import type { ReaderThread } from '../../runtime/reader-thread.ts';
import { fromUnixNs, MAX_INTEGER } from './columns.ts';
import type { Connection } from './connection.ts';
import { areDetailsWithin } from './conversation-details.ts';
import { conversationOf, conversationPage } from './conversation-list.ts';
import { messageOf, messagesOf, toMessage } from './message.ts';
import { detailsOf, withDetails } from './message-details.ts';
import {
  behindCursor,
  cursorAt,
  cursorOf,
  EVERYTHING,
  type List,
  listCost,
  listMessageRows,
  mergedKeys,
} from './message-list.ts';
import { oneToOneChatsIn } from './one-to-one-chats.ts';
import { reactionDetailsOf } from './reaction-details.ts';
import { chatsOf, RecentConversations, type StoredOrder } from './recent-conversations.ts';
import { rowIdOf } from './row-id.ts';
import type { Snapshot } from './snapshot.ts';

/**
 * Maximum number of rows that the main thread reads for one request. Reading them takes about 2 ms. Requests that need
 * more go to the reader thread.
 */
const MAX_ROWS_AT_ONCE = 2000;
/** Cost of reading one message's details, expressed as a number of rows. */
const DETAILS_COST = 40;
/**
 * Maximum number of conversations, including skipped ones, that the main thread reads for one list. Longer lists go to
 * the reader thread.
 */
const MAX_CONVERSATIONS_AT_ONCE = 250;
/** Cost of each conversation whose messages are merged into one list, expressed as a number of rows. */
const MERGED_COST = 6;
const NOTHING = { items: [] };

/** An order of the conversations, and the id of the chat.db file from which that order was read. */
export interface OrderOfFile {
  readonly fileId: string;
  readonly order: StoredOrder;
}

/** Reads lists of any length. Runs in the reader thread, or in the main thread if there is no reader thread. */
export class ListReader {
  readonly #connection: Connection;
  readonly #recent = new RecentConversations();

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  messages(query: MessageQuery): Page<Message> {
    return this.#connection.read((snapshot) => messagePage(snapshot, query));
  }

  conversation(id: string, options: ReadOptions = {}): Conversation | undefined {
    return this.#connection.read((snapshot) => conversationOf(snapshot, id, options));
  }

  conversations(query: ConversationQuery): Page<Conversation> {
    return this.#connection.read((snapshot) => conversationPage(snapshot, this.#recent, query)) ?? NOTHING;
  }

  oneToOneChats(): readonly OneToOneChat[] {
    return this.#connection.read(oneToOneChatsIn);
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

/**
 * Reads messages and conversations from chat.db. Performs short reads itself, and passes longer ones to the reader
 * thread.
 */
export class ChatReader implements MessageReader {
  readonly #connection: Connection;
  readonly #thread: ReaderThread<{ readonly lists: ListReader }> | undefined;
  readonly #lists: ListReader;
  readonly #recent = new RecentConversations();
  #ordering: Promise<void> | undefined;

  constructor(connection: Connection, thread?: ReaderThread<{ readonly lists: ListReader }>) {
    this.#connection = connection;
    this.#thread = thread;
    this.#lists = new ListReader(connection);
  }

  async listMessages(query: MessageQuery): Promise<Page<Message>> {
    const page = this.#connection.read((snapshot) =>
      isFast(snapshot, query) ? messagePage(snapshot, query) : undefined,
    );
    return page ?? this.#thread?.call('lists', 'messages', query) ?? this.#lists.messages(query);
  }

  message(id: string, { include = NO_INCLUDES }: ReadOptions = {}): Message | undefined {
    const rowId = rowIdOf(id);
    if (rowId === undefined) return undefined;
    return this.#connection.read((snapshot) => {
      const message = messageOf(snapshot, rowId);
      return include.has('details') && message !== undefined ? withDetails(snapshot, message) : message;
    });
  }

  details(message: Message): MessageDetails | undefined {
    return this.#connection.read((snapshot) => detailsOf(snapshot, message));
  }

  /**
   * Returns the details of a row that the API reports as a reaction although the row belongs to a poll or an app.
   * Returns undefined for a tapback or a sticker, and if the row is gone.
   */
  reactionDetails(reaction: Reaction): ReactionDetails | undefined {
    return this.#connection.read((snapshot) => reactionDetailsOf(snapshot, reaction));
  }

  async listConversations(query: ConversationQuery): Promise<Page<Conversation>> {
    const { limit, offset } = query;
    if (offset + limit <= MAX_CONVERSATIONS_AT_ONCE && this.#areDetailsFast(limit, query)) {
      const page = this.#conversationsAtOnce(query);
      if (page !== undefined) {
        if (this.#recent.isOld) void this.#readOrder().catch(() => undefined);
        return page;
      }
      await this.#readOrder();
      const again = this.#conversationsAtOnce(query);
      if (again !== undefined) return again;
    }
    return this.#thread?.call('lists', 'conversations', query) ?? this.#lists.conversations(query);
  }

  async conversation(id: string, options: ReadOptions = {}): Promise<Conversation | undefined> {
    const areDetailsFast = this.#areDetailsFast(1, options);
    const found = this.#connection.read((snapshot) =>
      areDetailsFast && costOfChats(snapshot, id) <= MAX_ROWS_AT_ONCE
        ? { conversation: conversationOf(snapshot, id, options) }
        : undefined,
    );
    if (found !== undefined) return found.conversation;
    const { include = NO_INCLUDES } = options;
    return this.#thread === undefined
      ? this.#lists.conversation(id, { include })
      : this.#thread.call('lists', 'conversation', id, { include });
  }

  #areDetailsFast(chats: number, { include = NO_INCLUDES }: ReadOptions): boolean {
    if (!include.has('details')) return true;
    return this.#connection.read((snapshot) => areDetailsWithin(snapshot, chats, MAX_ROWS_AT_ONCE));
  }

  #conversationsAtOnce(query: ConversationQuery): Page<Conversation> | undefined {
    return this.#connection.read((snapshot) => conversationPage(snapshot, this.#recent, query, MAX_ROWS_AT_ONCE));
  }

  /** Rebuilds the order of the conversations. A call during a rebuild waits for that rebuild and starts no other. */
  #readOrder(): Promise<void> {
    this.#ordering ??= this.#makeOrder().finally(() => {
      this.#ordering = undefined;
    });
    return this.#ordering;
  }

  async #makeOrder(): Promise<void> {
    const made = this.#thread === undefined ? this.#lists.order() : await this.#thread.call('lists', 'order');
    this.#connection.read((snapshot) => {
      // Another file may have replaced chat.db while the order was read.
      if (made?.fileId === this.#connection.fileId) this.#recent.restore(snapshot, made.order);
    });
  }
}

function messagePage(snapshot: Snapshot, query: MessageQuery): Page<Message> {
  const list = listOf(snapshot, query);
  if (list === undefined) return NOTHING;
  if (query.conversationIds !== undefined) return mergedPage(snapshot, query, list, query.conversationIds);
  const offset = query.cursor === undefined ? query.offset : 0;
  const rows = listMessageRows(snapshot, list, query.limit + 1, offset);
  const shown = rows.slice(0, query.limit);
  const items = shown.map((row) => {
    const message = toMessage(row, snapshot);
    return query.include?.has('details') === true ? withDetails(snapshot, message) : message;
  });
  const end = shown.at(-1);
  if (end === undefined || rows.length <= query.limit) return { items };
  const next = cursorOf(end);
  return next === query.cursor ? { items } : { items, next };
}

/** Reads one page of a list that merges the messages of several conversations. */
function mergedPage(snapshot: Snapshot, query: MessageQuery, list: List, ids: readonly string[]): Page<Message> {
  const chatIds = ids.flatMap((id) => chatsWithExactly(snapshot, id));
  const offset = query.cursor === undefined ? query.offset : 0;
  const keys = mergedKeys(snapshot, list, chatIds, query.limit + 1, offset);
  const shown = keys.slice(0, query.limit);
  const messages = messagesOf(
    snapshot,
    shown.map(({ rowId }) => Number(rowId)),
  );
  const hasDetails = query.include?.has('details') === true;
  const items = hasDetails ? messages.map((message) => withDetails(snapshot, message)) : messages;
  const end = shown.at(-1);
  return end === undefined || keys.length <= query.limit ? { items } : { items, next: cursorAt(end) };
}

function chatsWithExactly(snapshot: Snapshot, guid: string): readonly number[] {
  return snapshot
    .chatsWithId(guid)
    .filter((chat) => chat.guid === guid)
    .map(({ rowId }) => rowId);
}

/**
 * Returns the list that a query asks for. Returns undefined for an unknown conversation, which has no messages
 * (decision B9). Throws `invalid_cursor`.
 */
function listOf(snapshot: Snapshot, query: MessageQuery): List | undefined {
  const { conversationId, order, sinceNs, beforeNs, cursor } = query;
  const chatId = conversationId === undefined ? undefined : chatsOf(snapshot, conversationId)[0]?.rowId;
  const since = sinceNs === undefined ? undefined : { date: fromUnixNs(sinceNs), rowId: MAX_INTEGER };
  const before = beforeNs === undefined ? undefined : { date: fromUnixNs(beforeNs) - 1n, rowId: MAX_INTEGER };
  const bounds = { ...EVERYTHING, ...(since && { after: since }), ...(before && { before }) };
  const list: List = {
    chatId,
    order,
    ...bounds,
    withHidden: query.include_hidden === true,
    hasFiles: query.hasFiles === true,
  };
  const rest = cursor === undefined ? list : behindCursor(list, cursor);
  return conversationId !== undefined && chatId === undefined ? undefined : rest;
}

function isFast(snapshot: Snapshot, query: MessageQuery): boolean {
  const { conversationId, cursor, limit, include = NO_INCLUDES } = query;
  const offset = cursor === undefined ? query.offset : 0;
  const details = include.has('details') ? limit * DETAILS_COST : 0;
  // To list messages with files, SQLite may have to skip any number of messages without files.
  if (query.hasFiles === true || offset + details > MAX_ROWS_AT_ONCE) return false;
  if (query.conversationIds !== undefined) {
    const chatIds = query.conversationIds.flatMap((id) => chatsWithExactly(snapshot, id));
    const rows = chatIds.reduce((sum, chatId) => sum + MERGED_COST + listCost(snapshot, chatId, 0), offset + details);
    return rows <= MAX_ROWS_AT_ONCE;
  }
  const chats = conversationId === undefined ? [undefined] : snapshot.chatsWithId(conversationId);
  return chats.every((chat) => details + listCost(snapshot, chat?.rowId, offset) <= MAX_ROWS_AT_ONCE);
}

/**
 * Returns the number of rows that must be read to find a chat's newest date. If several chats have this id, returns the
 * highest of their numbers.
 */
function costOfChats(snapshot: Snapshot, id: string): number {
  return Math.max(0, ...snapshot.chatsWithId(id).map(({ rowId }) => listCost(snapshot, rowId, 0)));
}
