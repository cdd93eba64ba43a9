import type { Conversation } from '../model/conversation.ts';
import { NO_INCLUDES } from '../model/include.ts';
import type { Message } from '../model/message.ts';
import type { ConversationQuery, Page, ReadOptions } from '../model/ports/reading-ports.ts';
import type { Chat } from './chat.ts';
import { APPLE_EPOCH, type Instant, isoOf } from './columns.ts';
import { withConversationDetails } from './conversation-details.ts';
import { cursorTo, positionAt, type RecentConversation } from './conversation-position.ts';
import { chatOf, lastMessageAt } from './meant-chats.ts';
import { messageOf } from './message.ts';
import { listCost } from './message-list.ts';
import type { RecentConversations } from './recent-conversations.ts';
import type { Snapshot } from './snapshot.ts';

/** Returns the conversation that best matches an id. */
export function conversationOf(snapshot: Snapshot, id: string, options: ReadOptions): Conversation | undefined {
  const chat = chatOf(snapshot, id);
  if (chat === undefined) return undefined;
  return toConversation(snapshot, chat, lastMessageAt(snapshot, chat), options);
}

/** A page of the list of conversations, before anything but the order was read. */
export interface ListedPage {
  readonly listed: readonly RecentConversation[];
  readonly next?: string;
}

/** Returns the order of one page of the conversations; undefined if that would take more than `maxRows` reads. */
export function listedPage(
  snapshot: Snapshot,
  recent: RecentConversations,
  query: ConversationQuery,
  maxRows = Number.POSITIVE_INFINITY,
): ListedPage | undefined {
  const after = query.cursor ? positionAt(query.cursor) : undefined;
  const only = query.ids && conversationIdsOf(snapshot, query.ids);
  const found = recent.page(snapshot, { ...query, limit: query.limit + 1, after, only }, maxRows);
  if (found === undefined) return undefined;
  const listed = found.slice(0, query.limit);
  const end = found.length > query.limit ? listed.at(-1) : undefined;
  return end === undefined ? { listed } : { listed, next: cursorTo(end) };
}

/** Returns the row ids of the conversations with exactly these ids, also those of joined groups. */
function conversationIdsOf(snapshot: Snapshot, guids: readonly string[]): ReadonlySet<number> {
  const sql = 'SELECT c.ROWID FROM json_each(?) i CROSS JOIN chat c ON c.guid = i.value';
  const rows = snapshot.database.all(sql, JSON.stringify(guids));
  return new Set(rows.map(([rowId]) => snapshot.conversationRowId(rowId as number)));
}

/** Reads the conversations of a page. Leaves out those that were deleted since the order was read. */
export function shownPage(
  snapshot: Snapshot,
  { listed, ...next }: ListedPage,
  options: ReadOptions,
): Page<Conversation> {
  const hasDetails = options.include?.has('details') === true;
  const items: Conversation[] = [];
  for (const { chatId, last, rowId } of listed) {
    const chat = snapshot.chat(chatId);
    if (chat === undefined) continue;
    // Without an index, finding a chat's newest message is expensive. The row that determines the chat's position in
    // the list is used instead, if that row is known and is a message.
    const isExpensive = hasDetails && rowId !== undefined && listCost(snapshot, chatId, 0) > 0;
    items.push(toConversation(snapshot, chat, last, options, isExpensive ? messageOf(snapshot, rowId) : undefined));
  }
  return { items, ...next };
}

function toConversation(
  snapshot: Snapshot,
  chat: Chat,
  last: Instant | undefined,
  { include = NO_INCLUDES }: ReadOptions,
  newest?: Message,
): Conversation {
  const conversation = {
    id: chat.guid,
    display_name: chat.displayName,
    participants: chat.participants(),
    last_message_at: isoOf(last ?? APPLE_EPOCH),
  };
  return include.has('details') ? withConversationDetails(snapshot, chat, conversation, newest) : conversation;
}
