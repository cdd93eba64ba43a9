import type { Conversation } from '../model/conversation.ts';
import type { MessageDetails } from '../model/details.ts';
import { NO_INCLUDES } from '../model/include.ts';
import type { Message } from '../model/message.ts';
import type { Marks } from '../model/narrowing.ts';
import type {
  ConversationQuery,
  MessageQuery,
  MessageReader,
  NamedChat,
  Page,
  ReadOptions,
} from '../model/ports/reading-ports.ts';
import type { Reaction, ReactionDetails } from '../model/reaction.ts';
import type { ReaderThread } from '../runtime/reader-thread.ts';
import { attachmentsOf } from './attachment-details.ts';
import { fromUnixNs, MAX_INTEGER } from './columns.ts';
import type { Connection } from './connection.ts';
import { candidates, chatOf, conversationOf, type ListedPage, listedPage, shownPage } from './conversation-list.ts';
import { conversationMarks, messageMarks } from './marks.ts';
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
import { namedChatsIn } from './named-chats.ts';
import { type OneToOneChat, oneToOneChatsIn } from './one-to-one-chats.ts';
import { reactionDetailsOf } from './reaction-details.ts';
import type { Damage } from './read-around.ts';
import { RecentConversations, type StoredOrder } from './recent-conversations.ts';
import { rowIdOf } from './row-id.ts';
import type { Snapshot } from './snapshot.ts';
import { type Lists, threadLists } from './thread-lists.ts';

/**
 * Maximum number of rows that the main thread reads for one request. Reading them takes about 2 ms. Requests that need
 * more go to the reader thread.
 */
const MAX_ROWS_AT_ONCE = 2000;
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

  oneToOneChats(): readonly OneToOneChat[] {
    return this.#connection.read(oneToOneChatsIn);
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

/**
 * Reads messages and conversations from chat.db. Performs short reads itself, and passes longer ones to the reader
 * thread, as well as everything that is decoded: nobody else waits for a row that is expensive to decode (decision
 * AB14).
 */
export class ChatReader implements MessageReader {
  readonly #connection: Connection;
  readonly #lists: Lists;
  readonly #recent = new RecentConversations();
  #ordering: Promise<void> | undefined;
  #chats: { readonly of: unknown; readonly list: readonly NamedChat[] } | undefined;

  constructor(connection: Connection, thread?: ReaderThread<{ readonly lists: ListReader }>) {
    this.#connection = connection;
    this.#lists = thread === undefined ? new ListReader(connection) : threadLists(thread);
  }

  async listMessages(query: MessageQuery): Promise<Page<Message>> {
    const page = this.#connection.read((snapshot) =>
      isFast(snapshot, query) ? messagePage(snapshot, query) : undefined,
    );
    return page ?? this.#lists.messages(query);
  }

  async message(id: string, { include = NO_INCLUDES }: ReadOptions = {}): Promise<Message | undefined> {
    if (include.has('details')) return this.#lists.message(id, { include });
    return this.#connection.read((snapshot) => {
      const rowId = rowIdOf(id, snapshot);
      return rowId === undefined ? undefined : messageOf(snapshot, rowId);
    });
  }

  async details(message: Message): Promise<MessageDetails | undefined> {
    return this.#lists.details(message);
  }

  /**
   * Returns the details of a row that the API reports as a reaction although the row belongs to a poll or an app.
   * Returns undefined for a tapback or a sticker, and if the row is gone.
   */
  async reactionDetails(reaction: Reaction): Promise<ReactionDetails | undefined> {
    return this.#lists.reactionDetails(reaction);
  }

  /** Returns the names of a message's attachments, without decoding anything. */
  attachmentNames({ id }: Message): readonly string[] {
    return this.#connection.read((snapshot) => attachmentsOf(snapshot, Number(id)).map(({ name }) => name));
  }

  async listConversations(query: ConversationQuery): Promise<Page<Conversation>> {
    const { limit, offset } = query;
    if (query.ids !== undefined || offset + limit > MAX_CONVERSATIONS_AT_ONCE) return this.#lists.conversations(query);
    let page = this.#conversationsAtOnce(query);
    if (page === undefined) {
      await this.#readOrder();
      page = this.#conversationsAtOnce(query);
    } else if (this.#recent.isOld) void this.#readOrder().catch(() => undefined);
    return page ?? this.#lists.conversations(query);
  }

  /** Returns the same list until the next commit. */
  async chats(): Promise<readonly NamedChat[]> {
    const of = this.#connection.snapshot();
    const kept = this.#chats;
    if (kept !== undefined && kept.of === of) return kept.list;
    const list = await this.#lists.chats();
    this.#chats = { of, list };
    return list;
  }

  async conversation(id: string, options: ReadOptions = {}): Promise<Conversation | undefined> {
    const { include = NO_INCLUDES } = options;
    const found = this.#connection.read((snapshot) =>
      !include.has('details') && costOfChats(snapshot, id) <= MAX_ROWS_AT_ONCE
        ? { conversation: conversationOf(snapshot, id, options) }
        : undefined,
    );
    return found === undefined ? this.#lists.conversation(id, { include }) : found.conversation;
  }

  marks(what: 'messages' | 'conversations', ids: readonly string[]): ReadonlyMap<string, Marks> {
    return what === 'messages' ? messageMarks(this.#connection, ids) : conversationMarks(this.#connection, ids);
  }

  /** Returns a page whose order takes at most `MAX_ROWS_AT_ONCE` reads; undefined if it takes more. */
  #conversationsAtOnce(query: ConversationQuery): Page<Conversation> | Promise<Page<Conversation>> | undefined {
    const { include = NO_INCLUDES } = query;
    const found = this.#connection.read((snapshot) => {
      const listed = listedPage(snapshot, this.#recent, query, MAX_ROWS_AT_ONCE);
      if (listed === undefined) return undefined;
      return { listed, ...(!include.has('details') && { page: shownPage(snapshot, listed, query) }) };
    });
    return found && (found.page ?? this.#lists.listedConversations(found.listed, { include }));
  }

  /** Rebuilds the order of the conversations. A call during a rebuild waits for that rebuild and starts no other. */
  #readOrder(): Promise<void> {
    this.#ordering ??= this.#makeOrder().finally(() => {
      this.#ordering = undefined;
    });
    return this.#ordering;
  }

  async #makeOrder(): Promise<void> {
    const made = await this.#lists.order();
    this.#connection.read((snapshot) => {
      // Another file may have replaced chat.db while the order was read.
      if (made?.fileId === this.#connection.fileId) this.#recent.restore(snapshot, made.order);
    });
  }
}

function messagePage(snapshot: Snapshot, query: MessageQuery): Page<Message> {
  const list = listOf(snapshot, query);
  if (list === undefined) return NOTHING;
  if (query.conversationIds !== undefined) {
    return mergedPage(snapshot, query, list, chatIdsOf(snapshot, query.conversationIds));
  }
  const { rowIds = [] } = list.chatId === undefined ? {} : (snapshot.chat(list.chatId) ?? {});
  if (rowIds.length > 1) return mergedPage(snapshot, query, list, rowIds);
  const offset = query.cursor === undefined ? query.offset : 0;
  const rows = listMessageRows(snapshot, list, query.limit + 1, offset);
  const shown = rows.slice(0, query.limit);
  const items = shown.map((row) => {
    const message = toMessage(row, snapshot);
    return query.include?.has('details') === true ? withDetails(snapshot, message) : message;
  });
  const end = shown.at(-1);
  return end === undefined || rows.length <= query.limit ? { items } : pageBefore(cursorOf(end), items, query);
}

/**
 * Returns a page that continues at `next`. A cursor rounds a date with a fraction and a row id beyond 2^53, so what
 * follows such a row can begin with that row: the list ends there, because a client would read that page again and again.
 */
function pageBefore(next: string, items: readonly Message[], { cursor }: MessageQuery): Page<Message> {
  return next === cursor ? { items } : { items, next };
}

/** Reads one page of a list that merges the messages of several conversations. */
function mergedPage(snapshot: Snapshot, query: MessageQuery, list: List, chatIds: readonly number[]): Page<Message> {
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
  return end === undefined || keys.length <= query.limit ? { items } : pageBefore(cursorAt(end), items, query);
}

/** Returns the row ids of the chats of these conversations, each once. */
function chatIdsOf(snapshot: Snapshot, guids: readonly string[]): readonly number[] {
  return [...new Set(guids.flatMap((guid) => snapshot.chatsNamed(guid).flatMap(({ rowIds }) => rowIds)))];
}

/**
 * Returns the list that a query asks for. Returns undefined for an unknown conversation, which has no messages
 * (decision B9). Throws `invalid_cursor`.
 */
function listOf(snapshot: Snapshot, query: MessageQuery): List | undefined {
  const { conversationId, order, sinceNs, beforeNs, cursor } = query;
  const chatId = conversationId === undefined ? undefined : chatOf(snapshot, conversationId)?.rowId;
  const since = sinceNs === undefined ? undefined : { date: fromUnixNs(sinceNs), rowId: MAX_INTEGER };
  const before = beforeNs === undefined ? undefined : { date: fromUnixNs(beforeNs) - 1n, rowId: MAX_INTEGER };
  const bounds = { ...EVERYTHING, ...(since && { after: since }), ...(before && { before }) };
  const list: List = {
    chatId,
    order,
    ...bounds,
    withHidden: query.withHidden === true,
    hasFiles: query.hasFiles === true,
  };
  const rest = cursor === undefined ? list : behindCursor(list, cursor);
  return conversationId !== undefined && chatId === undefined ? undefined : rest;
}

function isFast(snapshot: Snapshot, query: MessageQuery): boolean {
  const { conversationId, cursor, include = NO_INCLUDES } = query;
  const offset = cursor === undefined ? query.offset : 0;
  // To list messages with files, SQLite may have to skip any number of messages without files.
  if (query.hasFiles === true || include.has('details') || offset > MAX_ROWS_AT_ONCE) return false;
  if (query.conversationIds !== undefined) {
    const chatIds = chatIdsOf(snapshot, query.conversationIds);
    const rows = chatIds.reduce((sum, chatId) => sum + MERGED_COST + listCost(snapshot, chatId, 0), offset);
    return rows <= MAX_ROWS_AT_ONCE;
  }
  const chats =
    conversationId === undefined ? [undefined] : candidates(snapshot, conversationId).flatMap(({ rowIds }) => rowIds);
  return chats.every((chatId) => listCost(snapshot, chatId, offset) <= MAX_ROWS_AT_ONCE);
}

/**
 * Returns the number of rows that must be read to find a chat's newest date. If several chats have this id, returns the
 * highest of their numbers.
 */
function costOfChats(snapshot: Snapshot, id: string): number {
  return Math.max(
    0,
    ...candidates(snapshot, id).flatMap(({ rowIds }) => rowIds.map((rowId) => listCost(snapshot, rowId, 0))),
  );
}
