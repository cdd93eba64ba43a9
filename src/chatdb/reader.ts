import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Conversation } from '../domain/conversation.ts';
import type { MessageDetails } from '../domain/details.ts';
import type { Message } from '../domain/message.ts';
import type { MessageQuery, MessageReader, Page, ReadOptions } from '../domain/ports.ts';
import type { Connection } from './connection.ts';
import { detailsOf, withDetails } from './details.ts';
import type { Chat, Edition } from './edition.ts';
import { APPLE_EPOCH, fromUnixNs, isoOf, LARGEST_INTEGER } from './instants.ts';
import { beyond, cursorOf, EVERYTHING, type List, type Range, rangeAtCursor, skip, take } from './pages.ts';
import { toMessage } from './rows.ts';

/** Rows passed over in one turn of the event loop: a deep offset may take long, but blocks nobody. */
const ROWS_A_TURN = 3000;
const DATE_OF_A_ROW = 2;
const NOTHING = { items: [] };

/** Reads of messages and conversations, always from chat.db itself. */
export class ChatReader implements MessageReader {
  readonly #connection: Connection;

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  listMessages(query: MessageQuery): Page<Message> | Promise<Page<Message>> {
    const range = rangeOf(query);
    if (query.cursor !== undefined || query.offset === 0) return this.#page(query, range, query.offset);
    return this.#pageAtOffset(query, range);
  }

  message(rowId: number, { includeDetails = false }: ReadOptions = {}): Message | undefined {
    return this.#connection.read((edition) => {
      const message = messageOf(edition, rowId);
      return includeDetails && message !== undefined ? withDetails(edition, message) : message;
    });
  }

  details({ id, guid }: Message): MessageDetails | undefined {
    return this.#connection.read((edition) => detailsOf(edition, Number(id), guid));
  }

  listConversations({ limit, offset }: { readonly limit: number; readonly offset: number }): Page<Conversation> {
    return this.#connection.read((edition) => ({
      items: edition.ranking.page(limit, offset).flatMap(({ chatId, last }) => {
        const chat = edition.chat(chatId);
        return chat === undefined ? [] : [toConversation(chat, isoOf(last ?? APPLE_EPOCH))];
      }),
    }));
  }

  conversation(id: string): Conversation | undefined {
    return this.#connection.read((edition) => {
      const chat = edition.chatsOf(id)[0];
      return chat && toConversation(chat, isoOf(edition.ranking.last(chat.rowId) ?? APPLE_EPOCH));
    });
  }

  #page(query: MessageQuery, range: Range, offset: number): Page<Message> {
    return this.#connection.read((edition) => {
      const list = listOf(edition, query);
      if (list === undefined) return NOTHING;
      const found = take(
        list,
        edition.database.queries.pages[scopeOf(list)][query.order].rows,
        DATE_OF_A_ROW,
        range,
        query.limit + 1,
      );
      const shown = found.slice(0, query.limit);
      const messages = shown.map(({ row }) => toMessage(row, edition));
      const items = query.includeDetails ? messages.map((message) => withDetails(edition, message)) : messages;
      const end = shown.at(-1);
      if (end === undefined || found.length <= query.limit) return { items };
      if (query.cursor === undefined) edition.setBookmark(bookmarkOf(query, offset + query.limit), end);
      const next = cursorOf(end);
      return next === query.cursor ? { items } : { items, next };
    });
  }

  #pageAtOffset(query: MessageQuery, range: Range): Page<Message> | Promise<Page<Message>> {
    const known = this.#connection.read((edition) => edition.bookmark(bookmarkOf(query, query.offset)));
    if (known !== undefined) return this.#page(query, beyond(range, query.order, known), query.offset);
    const start = this.#skip(query, range, Math.min(query.offset, ROWS_A_TURN));
    if (start === undefined) return NOTHING;
    if (query.offset <= ROWS_A_TURN) return this.#page(query, start, query.offset);
    return this.#pageFarDown(query, start);
  }

  async #pageFarDown(query: MessageQuery, start: Range): Promise<Page<Message>> {
    let range = start;
    for (let left = query.offset - ROWS_A_TURN; left > 0; left -= ROWS_A_TURN) {
      await nextTurn();
      const further = this.#skip(query, range, Math.min(left, ROWS_A_TURN));
      if (further === undefined) return NOTHING;
      range = further;
    }
    return this.#page(query, range, query.offset);
  }

  #skip(query: MessageQuery, range: Range, count: number): Range | undefined {
    return this.#connection.read((edition) => {
      const list = listOf(edition, query);
      if (list === undefined) return undefined;
      const place = skip(list, edition.database.queries.pages[scopeOf(list)][query.order].keys, range, count);
      return place && beyond(range, query.order, place);
    });
  }
}

/** undefined for an unknown row id and for a reaction (B8). */
export function messageOf(edition: Edition, rowId: number): Message | undefined {
  const row = edition.database.get(edition.database.queries.message, rowId);
  return row && toMessage(row, edition);
}

function rangeOf(query: MessageQuery): Range {
  const since = query.sinceNs;
  const range =
    since === undefined ? EVERYTHING : { ...EVERYTHING, after: { date: fromUnixNs(since), rowId: LARGEST_INTEGER } };
  return query.cursor === undefined ? range : rangeAtCursor(range, query.order, query.cursor);
}

/** undefined for a conversation that is not known (B9: an empty list). */
function listOf(edition: Edition, { conversationId, order }: MessageQuery): List | undefined {
  if (conversationId === undefined) return { source: edition, chatId: undefined, order };
  const chat = edition.chatsOf(conversationId)[0];
  return chat && { source: edition, chatId: chat.rowId, order };
}

function scopeOf({ chatId }: List): 'all' | 'chat' {
  return chatId === undefined ? 'all' : 'chat';
}

function bookmarkOf({ conversationId, sinceNs, order }: MessageQuery, offset: number): string {
  return `${order} ${offset} ${sinceNs ?? ''} ${conversationId ?? ''}`;
}

function toConversation(chat: Chat, lastMessageAt: string): Conversation {
  return {
    id: chat.guid,
    display_name: chat.displayName,
    participants: chat.participants(),
    last_message_at: lastMessageAt,
  };
}
