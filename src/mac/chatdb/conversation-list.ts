import type { Conversation } from '../../domain/conversation.ts';
import { NO_INCLUDES } from '../../domain/include.ts';
import type { Message } from '../../domain/message.ts';
import type { ConversationQuery, Page, ReadOptions } from '../../domain/ports/reading-ports.ts';
import { APPLE_EPOCH, type Instant, isoOf } from './columns.ts';
import { withConversationDetails } from './conversation-details.ts';
import { cursorTo, positionAt } from './conversation-position.ts';
import { messageOf } from './message.ts';
import { listCost } from './message-list.ts';
import { chatsOf, lastMessageAt, type RecentConversations } from './recent-conversations.ts';
import type { Chat, Snapshot } from './snapshot.ts';

/** Returns the conversation that best matches an id. */
export function conversationOf(snapshot: Snapshot, id: string, options: ReadOptions): Conversation | undefined {
  const [chat] = chatsOf(snapshot, id);
  if (chat === undefined) return undefined;
  return toConversation(snapshot, chat, lastMessageAt(snapshot, chat.rowId), options);
}

/** Returns a page of the list of conversations; undefined if the page would take more than `maxRows` reads. */
export function conversationPage(
  snapshot: Snapshot,
  recent: RecentConversations,
  query: ConversationQuery,
  maxRows = Number.POSITIVE_INFINITY,
): Page<Conversation> | undefined {
  const after = query.cursor ? positionAt(query.cursor) : undefined;
  const found = recent.page(snapshot, { ...query, limit: query.limit + 1, after }, maxRows);
  if (found === undefined) return undefined;
  const listed = found.slice(0, query.limit);
  const end = found.length > query.limit ? listed.at(-1) : undefined;
  const items: Conversation[] = [];
  let rows = 0;
  for (const { chatId, last, rowId } of listed) {
    const chat = snapshot.chat(chatId);
    if (chat === undefined) continue;
    let newest: Message | undefined;
    const cost = query.include?.has('details') === true ? listCost(snapshot, chatId, 0) : 0;
    // Without an index, finding a chat's newest message is expensive. The row that determines the chat's position in
    // the list is used instead, if that row is known and is a message.
    if (cost > 0 && rowId !== undefined) newest = messageOf(snapshot, rowId);
    if (newest === undefined) rows += cost;
    if (rows > maxRows) return undefined;
    items.push(toConversation(snapshot, chat, last, query, newest));
  }
  return end === undefined ? { items } : { items, next: cursorTo(end) };
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
