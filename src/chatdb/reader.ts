import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Conversation } from '../domain/conversation.ts';
import type { MessageDetails } from '../domain/details.ts';
import type { Message } from '../domain/message.ts';
import type { MessageQuery, MessageReader, Page, ReadOptions } from '../domain/ports/reading.ts';
import type { Connection } from './connection.ts';
import { detailsOf, withDetails } from './details.ts';
import type { Chat, Edition } from './edition.ts';
import { APPLE_EPOCH, fromUnixNs, isoOf, LARGEST_INTEGER } from './instants.ts';
import { type Columns, type List, skip, skipCost, take } from './pages.ts';
import { beyond, cursorOf, EVERYTHING, type Range, rangeAtCursor } from './places.ts';
import type { PageQueries } from './queries.ts';
import { toMessage } from './rows.ts';
import { NOT_YET, type NotYet, Turn } from './turns.ts';

/** What the details of one message cost, in rows passed over. */
const DETAILS = 60;
const NOTHING = { items: [] };

/** Reads of messages and conversations, always from chat.db itself. */
export class ChatReader implements MessageReader {
  readonly #connection: Connection;

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  listMessages(query: MessageQuery): Page<Message> | Promise<Page<Message>> {
    let range = rangeOf(query);
    let toSkip = query.cursor === undefined ? query.offset : 0;
    let page: Page<Message> | undefined;
    const detailed: Message[] = [];
    return this.#inTurns((edition, turn) => {
      const list = listOf(edition, query, turn);
      if (list === undefined) return NOTHING;
      if (list === NOT_YET) return NOT_YET;
      const known = toSkip === query.offset && toSkip > 0 ? edition.bookmark(bookmarkOf(query, toSkip)) : undefined;
      if (known !== undefined) {
        range = beyond(range, query.order, known);
        toSkip = 0;
      }
      while (toSkip > 0) {
        if (turn.isOver) return NOT_YET;
        const cost = skipCost(list);
        const count = Math.min(toSkip, Math.ceil(turn.rowsLeft / cost));
        turn.spend(count * cost);
        const place = skip(list, columnsOf(list, query, 'keys'), range, count);
        if (place === undefined) return NOTHING;
        range = beyond(range, query.order, place);
        toSkip -= count;
      }
      page ??= pageOf(edition, list, query, range);
      if (query.includeDetails !== true) return page;
      for (const message of page.items.slice(detailed.length)) {
        if (turn.isOver) return NOT_YET;
        turn.spend(DETAILS);
        detailed.push(withDetails(edition, message));
      }
      return { ...page, items: detailed };
    });
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

  listConversations({
    limit,
    offset,
  }: {
    readonly limit: number;
    readonly offset: number;
  }): Page<Conversation> | Promise<Page<Conversation>> {
    return this.#inTurns((edition, turn) => {
      const page = edition.ranking.page(limit, offset, turn);
      if (page === NOT_YET) return NOT_YET;
      return {
        items: page.flatMap(({ chatId, last }) => {
          const chat = edition.chat(chatId);
          return chat === undefined ? [] : [toConversation(chat, isoOf(last ?? APPLE_EPOCH))];
        }),
      };
    });
  }

  conversation(id: string): Conversation | undefined | Promise<Conversation | undefined> {
    return this.#inTurns((edition, turn) => {
      const chat = edition.chatOf(id, turn);
      if (chat === undefined || chat === NOT_YET) return chat;
      return toConversation(chat, isoOf(edition.ranking.last(chat.rowId) ?? APPLE_EPOCH));
    });
  }

  /**
   * Almost always the answer is there in the first turn. A long one is of the edition that it began with, and of what
   * was committed while it was made: were it begun anew at every commit, a busy chat.db would never let it end.
   */
  #inTurns<Result>(step: (edition: Edition, turn: Turn) => Result | NotYet): Result | Promise<Result> {
    let begun: Edition | undefined;
    const next = (): Result | NotYet =>
      this.#connection.read((current) => {
        // Another database may lie there by now.
        if (begun?.database !== current.database) begun = current;
        return step(begun, new Turn());
      });
    const first = next();
    return first === NOT_YET ? untilDone(next) : first;
  }
}

async function untilDone<Result>(next: () => Result | NotYet): Promise<Result> {
  for (;;) {
    await nextTurn();
    const result = next();
    if (result !== NOT_YET) return result;
  }
}

function pageOf(edition: Edition, list: List, query: MessageQuery, range: Range): Page<Message> {
  const found = take(list, columnsOf(list, query, 'rows'), range, query.limit + 1);
  const shown = found.slice(0, query.limit);
  const items: Message[] = [];
  for (const { row, rowId } of shown) {
    const message = row === undefined ? messageOf(edition, rowId) : toMessage(row, edition);
    if (message !== undefined) items.push(message);
  }
  const end = shown.at(-1);
  if (end === undefined || found.length <= query.limit) return { items };
  if (query.cursor === undefined) edition.setBookmark(bookmarkOf(query, query.offset + query.limit), end);
  const next = cursorOf(end);
  return next === query.cursor ? { items } : { items, next };
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
function listOf(edition: Edition, { conversationId, order }: MessageQuery, turn: Turn): List | undefined | NotYet {
  if (conversationId === undefined) {
    return edition.isOrdered(undefined, turn) ? { source: edition, chatId: undefined, order } : NOT_YET;
  }
  const chat = edition.chatOf(conversationId, turn);
  return chat === undefined || chat === NOT_YET ? chat : { source: edition, chatId: chat.rowId, order };
}

/** The texts of `rows` have the date behind row id and guid, those of `keys` behind the row id. */
function columnsOf({ source, chatId }: List, { order }: MessageQuery, what: keyof PageQueries): Columns {
  const { pages } = source.database.queries;
  const sql = pages[chatId === undefined ? 'all' : 'chat'][order][what];
  return { sql, dateAt: what === 'rows' ? 2 : 1, purpose: 'isMessage' };
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
