import type { Conversation } from '../model/conversation.ts';
import { brief, type ConversationDetails, type LastMessage } from '../model/details.ts';
import type { Message } from '../model/message.ts';
import type { Chat } from './chat.ts';
import type { ChatDbHandle } from './chatdb-handle.ts';
import { toMessage } from './message.ts';
import { detailsOf } from './message-details.ts';
import { newestMessageRow } from './message-list.ts';
import { isNotHidden } from './queries.ts';
import { isInChat } from './row-chat.ts';
import { isMessage } from './row-kinds.ts';
import type { SchemaInfo } from './schema-info.ts';
import type { Snapshot } from './snapshot.ts';

interface UnreadQueries {
  /** For each chat with unread messages, selects the chat's row id and the number of its unread messages. */
  readonly byChat: string;
}

const known = new WeakMap<SchemaInfo, UnreadQueries | undefined>();

/**
 * Returns the SQL for unread messages. Returns undefined if chat.db does not record which messages are unread, or if
 * counting them would take a full scan.
 */
export function unreadQueriesOf(database: Pick<ChatDbHandle, 'schema' | 'get'>): UnreadQueries | undefined {
  const { schema } = database;
  if (!known.has(schema)) known.set(schema, findUnreadQueries(database));
  return known.get(schema);
}

/**
 * Finds the first suitable index and names it in the SQL. Without the name, table statistics can make SQLite read all
 * rows instead of the few unread ones.
 */
function findUnreadQueries(database: Pick<ChatDbHandle, 'schema' | 'get'>): UnreadQueries | undefined {
  const { schema } = database;
  const indexes = [
    ...schema.indexes('message', 'is_read', 'is_from_me', 'item_type'),
    ...schema.indexes('message', 'is_read', 'is_from_me'),
  ];
  for (const index of indexes) {
    const queries = unreadQueries(schema, index);
    try {
      // SQLite refuses the statement if the named index is partial and lacks rows that the statement needs.
      database.get(`EXPLAIN ${queries.byChat}`);
      return queries;
    } catch {
      // Tries the next index. Unread counts are optional, so a failure here must not end the request.
    }
  }
  return undefined;
}

/**
 * Builds the SQL for unread incoming messages, read from this index. Leaves out system rows and, in `byChat`, reactions
 * (decision K3).
 */
function unreadQueries(schema: SchemaInfo, index: string): UnreadQueries {
  const has = (name: string): boolean => schema.hasColumn('message', name);
  // A view of a damaged database cannot name an index.
  const { messagesByIndex } = schema;
  const named = `message m INDEXED BY "${index.replaceAll('"', '""')}"`;
  const from = messagesByIndex === 'message' ? named : `${messagesByIndex} m`;
  const conditions = [
    'm.is_read = 0 AND m.is_from_me = 0',
    ...(has('item_type') ? ['m.item_type = 0'] : []),
    ...(has('is_finished') ? ['m.is_finished = 1'] : []),
    ...(has('is_system_message') ? ['m.is_system_message = 0'] : []),
  ].join(' AND ');
  // Messages may mark only the newest of the messages read on another device as read, or none (Omaimsg, issue 30).
  const isBehindMark = schema.hasColumn('chat', 'last_read_message_timestamp')
    ? `AND NOT EXISTS (SELECT 1 FROM chat c WHERE c.ROWID = j.chat_id
        AND typeof(c.last_read_message_timestamp) = 'integer' AND c.last_read_message_timestamp >= m.date)`
    : '';
  const isUnread = `${conditions} AND ${isMessage(schema)} AND ${isNotHidden(schema)}${has('date_read') ? ' AND NOT ifnull(m.date_read, 0)' : ''}`;
  return {
    byChat: `SELECT j.chat_id, count(*) FROM ${from} CROSS JOIN chat_message_join j ON j.message_id = m.ROWID
      WHERE ${isUnread} AND ${isInChat(schema)} ${isBehindMark} GROUP BY j.chat_id`,
  };
}

/**
 * Returns the conversation with its details (decision K3). `newest` is the conversation's newest message, if the caller
 * has already read it.
 */
export function withConversationDetails(
  snapshot: Snapshot,
  chat: Chat,
  conversation: Conversation,
  newest: Message | undefined,
): Conversation {
  const unread = unreadIn(snapshot, chat);
  const last = newest ?? newestMessage(snapshot, chat);
  const details: ConversationDetails = {
    chat_number: chat.rowId,
    ...(chat.otherIds.length > 0 && { other_ids: chat.otherIds }),
    ...(unread !== undefined && { unread_count: unread }),
    is_group: chat.isGroup,
    service: chat.service,
    ...(chat.filter !== undefined && { filter: chat.filter }),
    last_message: last
      ? {
          id: last.id,
          sender: last.sender,
          is_from_me: last.is_from_me,
          status: last.status,
          body: brief(last.body),
          ...sentenceOfLast(snapshot, last),
          timestamp: last.timestamp,
        }
      : null,
  };
  return { ...conversation, details };
}

/** A text that begins like this is usually only a link, and the link's preview says more. */
const LINK = /^https?:\/\//i;

/** Returns the sentence that describes a conversation's last message; {} if the message's text says everything. */
function sentenceOfLast(
  snapshot: Snapshot,
  last: Message,
): Pick<LastMessage, 'sentence' | 'group_event' | 'location_share'> {
  if (last.body !== '' && last.attachments.length === 0 && !LINK.test(last.body)) return {};
  const { sentence, group_event: event, location_share: share } = detailsOf(snapshot, last) ?? {};
  return {
    ...(sentence !== undefined && { sentence }),
    ...(event !== undefined && { group_event: event }),
    ...(share !== undefined && { location_share: share }),
  };
}

function newestMessage(snapshot: Snapshot, chat: Chat): Message | undefined {
  const row = newestMessageRow(snapshot, chat);
  return row && toMessage(row, snapshot);
}

/** Number of unread messages in each chat, for each snapshot of chat.db. Key of the inner map: the chat's row id. */
const unreadCounts = new WeakMap<Snapshot, ReadonlyMap<number, number>>();

/** Returns the number of unread messages in a chat; undefined if `unreadQueriesOf` finds no SQL for it. */
function unreadIn(snapshot: Snapshot, { rowIds }: Chat): number | undefined {
  const { database } = snapshot;
  const queries = unreadQueriesOf(database);
  if (queries === undefined) return undefined;
  let counts = unreadCounts.get(snapshot);
  if (counts === undefined) {
    counts = new Map(database.all(queries.byChat).map(([chat, count]) => [Number(chat), Number(count)]));
    unreadCounts.set(snapshot, counts);
  }
  return rowIds.reduce((sum, chatId) => sum + (counts.get(chatId) ?? 0), 0);
}
