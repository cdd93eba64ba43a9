import type { Row } from '../runtime/sqlite.ts';
import type { ChatDbHandle } from './chatdb-handle.ts';
import { CHAT_DATE_COLUMNS, compareInstants, type Instant, instantAt, JOIN_COLUMNS } from './columns.ts';
import { byRecency, isNewer, type PageOfOrder, type RecentConversation } from './conversation-position.ts';
import { type OrderQueries, orderQueriesOf } from './list-queries.ts';
import { newestCountedIn, newestJoinedItem } from './message-list.ts';
import type { Snapshot } from './snapshot.ts';

/**
 * `last` is an upper bound of a chat's `last_message_at`. If `rowId` is defined, `last` is exact as long as that row
 * counts for the chat's `last_message_at`.
 */
interface Bound {
  readonly chatId: number;
  readonly last: Instant | undefined;
  readonly rowId: number | undefined;
}

/** The newest join and chat that the bounds include. A newer join may raise a bound; a newer chat has no bound yet. */
interface Marks {
  readonly join: number;
  readonly joinChat: number;
  readonly joinMessage: number;
  readonly chat: number;
  readonly chats: number;
}

/**
 * The order of the conversations in the form that passes between threads. Each bound is four numbers: chat id, seconds,
 * nanoseconds and row id. NaN stands for a missing number.
 */
export interface StoredOrder {
  readonly bounds: Float64Array;
  readonly marks: Marks;
}

/** If there are this many new joins, rebuilding the order is faster than updating it. */
const MAX_NEW_JOINS = 1000;
/** The order is rebuilt after this many commits, because an update that raises a message's date can go unnoticed. */
const MAX_KEPT_COMMITS = 100;
/** The number of conversations that is first examined to find the wanted ones. */
const FIRST_EXAMINED = 250;
/** Cost of reading or checking one chat's bound, expressed as a number of rows. */
const CHAT_COST = 4;

/**
 * Keeps the conversations sorted by `last_message_at`, newest first (decisions B9, B12), across commits. A commit
 * raises the bounds of the chats to which it adds messages. Before a page is returned, the bounds that decide the page
 * are checked and made exact.
 */
export class RecentConversations {
  #database: ChatDbHandle | undefined;
  #snapshot: Snapshot | undefined;
  /** Sorted, newest first. */
  #bounds: Bound[] = [];
  #byChat = new Map<number, Bound>();
  #marks: Marks | undefined;
  #commits = 0;
  /** The first conversations of the list, in final order. Their dates are exact at the commit of `#snapshot`. */
  #exact: RecentConversation[] = [];
  /** Conversations that are checked but not in `#exact` yet, because an unchecked one may still come before them. */
  #waiting: RecentConversation[] = [];
  /** Index of the first unchecked bound. */
  #next = 0;
  /** The row ids of the conversations in `#exact`. Only the most recent of joined groups is listed. */
  readonly #listed = new Set<number>();

  /** Returns one page of the conversations; undefined if that would read more than `maxRows` rows. */
  page(snapshot: Snapshot, asked: PageOfOrder, maxRows: number): RecentConversation[] | undefined {
    const { limit, offset, after, only } = asked;
    if (this.#snapshot !== snapshot && !this.#update(snapshot) && !this.#build(snapshot, maxRows)) return undefined;
    if (only !== undefined) return this.#pageOf(only, snapshot, asked, maxRows);
    // A conversation is never more recent than its bound, so at most this many conversations come before `after`.
    const most = after === undefined ? offset : indexIn(this.#bounds, after) + 1;
    if (!this.#makeExact(snapshot, most + limit, maxRows)) return undefined;
    const behind = after && this.#exact.findIndex((one) => byRecency(one, after) > 0);
    if (behind === -1) return [];
    const start = behind ?? offset;
    return this.#exact.slice(start, start + limit);
  }

  /**
   * Returns one page of the conversations with these row ids. Looks further and further down the list, until the page
   * is full.
   */
  #pageOf(
    only: ReadonlySet<number>,
    snapshot: Snapshot,
    { limit, offset, after }: PageOfOrder,
    maxRows: number,
  ): RecentConversation[] | undefined {
    const start = after === undefined ? offset : 0;
    for (let examined = FIRST_EXAMINED; ; examined *= 2) {
      if (!this.#makeExact(snapshot, examined, maxRows)) return undefined;
      const found = this.#exact.filter(
        (one) => only.has(snapshot.conversationRowId(one.chatId)) && (after === undefined || byRecency(one, after) > 0),
      );
      if (found.length >= start + limit || this.#exact.length < examined) return found.slice(start, start + limit);
    }
  }

  /** Reports whether the order has reached `MAX_KEPT_COMMITS` and should be rebuilt in the background. */
  get isOld(): boolean {
    return this.#commits >= MAX_KEPT_COMMITS;
  }

  store(snapshot: Snapshot): StoredOrder | undefined {
    this.#build(snapshot, Number.POSITIVE_INFINITY);
    if (this.#marks === undefined) return undefined;
    const bounds = this.#bounds.flatMap(({ chatId, last, rowId }) => [
      chatId,
      last?.seconds ?? Number.NaN,
      last?.nanos ?? Number.NaN,
      rowId ?? Number.NaN,
    ]);
    return { bounds: Float64Array.from(bounds), marks: this.#marks };
  }

  /** Adopts an order that another thread read from the same chat.db file. */
  restore(snapshot: Snapshot, { bounds, marks }: StoredOrder): void {
    const restored: Bound[] = [];
    for (let at = 0; at < bounds.length; at += 4) {
      const [chatId, seconds, nanos, rowId] = [bounds[at], bounds[at + 1], bounds[at + 2], bounds[at + 3]].map(noNaN);
      const last = seconds === undefined || nanos === undefined ? undefined : { seconds, nanos };
      restored.push({ chatId: chatId ?? 0, last, rowId });
    }
    this.#keep(snapshot.database, restored, marks);
  }

  #keep(database: ChatDbHandle, bounds: Bound[], marks: Marks | undefined): void {
    this.#database = database;
    this.#snapshot = undefined;
    this.#bounds = bounds;
    this.#byChat = new Map(bounds.map((bound) => [bound.chatId, bound]));
    this.#marks = marks;
    this.#commits = 0;
  }

  /** Updates the kept order to a new commit. Returns false if the order must be rebuilt. */
  #update(snapshot: Snapshot): boolean {
    const { database } = snapshot;
    const marks = this.#marks;
    if (marks === undefined || database !== this.#database) return false;
    const sql = orderQueriesOf(database.schema);
    const [joinChat, joinMessage] = database.get(sql.join, marks.join) ?? [];
    if (joinChat !== marks.joinChat || joinMessage !== marks.joinMessage) return false;
    const joins = database.all(sql.joinsAfter, marks.join, MAX_NEW_JOINS);
    const chats = database.all(sql.chatsAfter, marks.chat);
    const counted = database.get(sql.countChats)?.[0] as number;
    if (joins.length === MAX_NEW_JOINS || counted !== marks.chats + chats.length) return false;
    for (const [chatId] of chats) this.#raise({ chatId: chatId as number, last: undefined, rowId: undefined });
    for (const row of joins) this.#raise(boundOfJoin(row));
    for (const row of database.all(sql.newest)) this.#raise(boundOfJoin(row));
    const last = joins.at(-1);
    this.#marks = {
      ...(last === undefined ? marks : marksOf(last)),
      chat: (chats.at(-1)?.[0] as number | undefined) ?? marks.chat,
      chats: counted,
    };
    this.#commits += 1;
    this.#begin(snapshot);
    return true;
  }

  #raise(bound: Bound): void {
    const kept = this.#byChat.get(bound.chatId);
    if (kept !== undefined) {
      if (!isNewer(bound.last, kept.last)) return;
      this.#bounds.splice(indexIn(this.#bounds, kept), 1);
    }
    this.#bounds.splice(indexIn(this.#bounds, bound), 0, bound);
    this.#byChat.set(bound.chatId, bound);
  }

  /** Reads the bounds of all chats. Returns false if that would read more than `maxRows` rows. */
  #build(snapshot: Snapshot, maxRows: number): boolean {
    const { database } = snapshot;
    const sql = orderQueriesOf(database.schema);
    const size = Number(database.get(sql.isKept ? sql.countChats : sql.countRows)?.[0] ?? 0);
    if (size * CHAT_COST > maxRows) return false;
    const bounds = new Map<number, Bound>();
    for (const row of database.all(sql.latest)) bounds.set(row[0] as number, boundOfChat(row));
    let rows = size * CHAT_COST;
    for (const [id] of sql.odd === undefined ? [] : database.all(sql.odd)) {
      const chatId = id as number;
      rows += CHAT_COST * (1 + snapshot.dates(chatId).unindexed);
      if (rows > maxRows) return false;
      const newest = newestJoinedItem(snapshot, chatId);
      bounds.set(chatId, { chatId, last: newest?.instant, rowId: newest?.rowId });
    }
    this.#keep(database, [...bounds.values()].sort(byRecency), sql.isKept ? readMarks(database, sql) : undefined);
    this.#begin(snapshot);
    return true;
  }

  #begin(snapshot: Snapshot): void {
    this.#snapshot = snapshot;
    this.#exact = [];
    this.#waiting = [];
    this.#next = 0;
    this.#listed.clear();
  }

  /** Adds a conversation to `#exact`, unless a group that is joined to it is there already. */
  #list(snapshot: Snapshot, conversation: RecentConversation): void {
    const id = snapshot.conversationRowId(conversation.chatId);
    if (this.#listed.has(id)) return;
    this.#listed.add(id);
    this.#exact.push(conversation);
  }

  /** Makes the first `wanted` conversations exact. Returns false if that would read more than `maxRows` rows. */
  #makeExact(snapshot: Snapshot, wanted: number, maxRows: number): boolean {
    let rows = 0;
    while (this.#exact.length < wanted) {
      const bound = this.#bounds[this.#next];
      const [first] = this.#waiting;
      if (first !== undefined && (bound === undefined || byRecency(first, bound) <= 0)) {
        this.#list(snapshot, first);
        this.#waiting.shift();
      } else if (bound === undefined) {
        return true;
      } else {
        rows += CHAT_COST;
        // If there are no marks, every bound is exact, because it has just been read.
        const isExact = this.#marks === undefined || stillCounts(snapshot, bound);
        if (!isExact) rows += CHAT_COST * snapshot.dates(bound.chatId).unindexed;
        if (rows > maxRows) return false;
        const exact = isExact ? bound : exactBound(snapshot, bound.chatId);
        if (byRecency(exact, bound) === 0) {
          this.#bounds[this.#next] = exact;
          this.#byChat.set(exact.chatId, exact);
        }
        this.#next += 1;
        this.#waiting.splice(indexIn(this.#waiting, exact), 0, exact);
      }
    }
    return true;
  }
}

function noNaN(value: number | undefined): number | undefined {
  return Number.isNaN(value) ? undefined : value;
}

function exactBound(snapshot: Snapshot, chatId: number): Bound {
  const newest = newestCountedIn(snapshot, chatId);
  return { chatId, last: newest?.instant, rowId: newest?.rowId };
}

function stillCounts({ database }: Snapshot, { chatId, last, rowId }: Bound): boolean {
  if (last === undefined) return true;
  if (rowId === undefined) return false;
  const row = database.get(orderQueriesOf(database.schema).stillCounts, chatId, rowId);
  return row !== undefined && compareInstants(instantAt(row, 0), last) === 0;
}

function readMarks(database: ChatDbHandle, sql: OrderQueries): Marks {
  const newest = database.get(sql.newestJoin);
  const [chat, chats] = [database.get(sql.highestChat)?.[0], database.get(sql.countChats)?.[0]];
  return {
    ...(newest === undefined ? { join: 0, joinChat: 0, joinMessage: 0 } : marksOf(newest)),
    chat: Number(chat ?? 0),
    chats: Number(chats ?? 0),
  };
}

function marksOf(join: Row): Pick<Marks, 'join' | 'joinChat' | 'joinMessage'> {
  const { at } = JOIN_COLUMNS;
  return {
    join: join[at.rowId] as number,
    joinChat: join[at.chat] as number,
    joinMessage: join[at.message] as number,
  };
}

function boundOfChat(row: Row): Bound {
  const { at } = CHAT_DATE_COLUMNS;
  const last = row[at.hasMessages] === 0 ? undefined : instantAt(row, at.date);
  return { chatId: row[at.chat] as number, last, rowId: undefined };
}

/**
 * Returns how recent a chat may be, judging by one of its joins. Normally that is the date of the joined message, with
 * the message's row id. If the join's own date is later, it is that date, without a row id: an estimate.
 */
function boundOfJoin(row: Row): Bound {
  const { at } = JOIN_COLUMNS;
  const [own, of] = [instantAt(row, at.joinDate), instantAt(row, at.messageDate)];
  const chatId = row[at.chat] as number;
  return isNewer(own, of)
    ? { chatId, last: own, rowId: undefined }
    : { chatId, last: of, rowId: row[at.message] as number };
}

/** Returns the index of an item in a sorted list, or the index at which it would be inserted. */
function indexIn(sorted: readonly RecentConversation[], item: RecentConversation): number {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    const other = sorted[middle];
    if (other !== undefined && byRecency(other, item) < 0) low = middle + 1;
    else high = middle;
  }
  return low;
}
