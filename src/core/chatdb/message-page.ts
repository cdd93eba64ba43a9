import { NO_INCLUDES } from '../model/include.ts';
import type { Message } from '../model/message.ts';
import type { MessageQuery, Page } from '../model/ports/reading-ports.ts';
import { fromUnixNs, MAX_INTEGER } from './columns.ts';
import { candidates, chatOf } from './meant-chats.ts';
import { messagesOf, toMessage } from './message.ts';
import { withDetails } from './message-details.ts';
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
import type { Snapshot } from './snapshot.ts';

/**
 * Maximum number of rows that the main thread reads for one request. Reading them takes about 2 ms. Requests that need
 * more go to the reader thread.
 */
export const MAX_ROWS_AT_ONCE = 2000;
/** Cost of each conversation whose messages are merged into one list, expressed as a number of rows. */
const MERGED_COST = 6;
export const NOTHING = { items: [] };

/** Reads one page of a list of messages. */
export function messagePage(snapshot: Snapshot, query: MessageQuery): Page<Message> {
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
 * follows such a row can begin with that row: the list ends there, because a client would read that page again and
 * again.
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
  const { conversationId, order, sinceNs, beforeNs, cursor, withHidden = false, hasFiles = false } = query;
  const chatId = conversationId === undefined ? undefined : chatOf(snapshot, conversationId)?.rowId;
  const since = sinceNs === undefined ? undefined : { date: fromUnixNs(sinceNs), rowId: MAX_INTEGER };
  const before = beforeNs === undefined ? undefined : { date: fromUnixNs(beforeNs) - 1n, rowId: MAX_INTEGER };
  const bounds = { ...EVERYTHING, ...(since && { after: since }), ...(before && { before }) };
  const messages = hasFiles ? 'withFiles' : withHidden ? 'withHidden' : 'shown';
  const list: List = { chatId, order, ...bounds, messages };
  const rest = cursor === undefined ? list : behindCursor(list, cursor);
  return conversationId !== undefined && chatId === undefined ? undefined : rest;
}

/** Reports whether the page takes at most `MAX_ROWS_AT_ONCE` reads, and nothing is decoded for it. */
export function isFast(snapshot: Snapshot, query: MessageQuery): boolean {
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
export function costOfChats(snapshot: Snapshot, id: string): number {
  return Math.max(
    0,
    ...candidates(snapshot, id).flatMap(({ rowIds }) => rowIds.map((rowId) => listCost(snapshot, rowId, 0))),
  );
}
