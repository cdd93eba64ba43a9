import type { ChatDatabase } from './database.ts';
import type { ListSource } from './pages.ts';
import type { Place } from './places.ts';
import { Ranking } from './ranking.ts';
import { type ChatFacts, type Surroundings, toText } from './rows.ts';
import { spellingsOf } from './spellings.ts';
import { NOT_YET, type NotYet, type Turn } from './turns.ts';
import { Undated } from './undated.ts';

/** A chat as its own row and its participants describe it. */
export interface Chat extends ChatFacts {
  readonly rowId: number;
  /** null for one-to-one conversations and unnamed groups (B12). */
  readonly displayName: string | null;
  /** Service named by the chat, null when it names none or `any`. */
  readonly service: string | null;
  /** Addresses without duplicates, in stored order (B12). */
  participants(): readonly string[];
}

const MOST_BOOKMARKS = 1000;
const STYLE_GROUP = 43;

/**
 * What has been learned of one edition of the database, that is between two commits: it is never wrong,
 * because the next commit throws it away. Names and addresses are so read once, not once a row.
 */
export class Edition implements Surroundings, ListSource {
  readonly database: ChatDatabase;
  readonly ranking: Ranking;
  /** Where the page at an offset begins, for those who page by offset. */
  readonly #bookmarks = new Map<string, Place>();
  readonly #handles = new Map<number, string | undefined>();
  readonly #chats = new Map<number, Chat | undefined>();
  readonly #ids = new Map<string, readonly Chat[]>();
  readonly #oddDates = new Map<number | undefined, boolean>();
  readonly #undated = new Map<number | undefined, Undated>();

  constructor(database: ChatDatabase) {
    this.database = database;
    this.ranking = new Ranking(this);
  }

  address(handleId: number): string | undefined {
    return remember(this.#handles, handleId, () => {
      const id = toText(this.database.get(this.database.chatQueries.handle, handleId)?.[0]);
      return id === '' ? undefined : id;
    });
  }

  chat(rowId: number): Chat | undefined {
    return remember(this.#chats, rowId, () => this.#readChat(rowId));
  }

  /** The chats an id means, best first: the exact one, then the one with the newest message (B4). */
  chatsOf(id: string): readonly Chat[] {
    if (this.#ids.size >= MOST_BOOKMARKS) this.#ids.clear();
    return remember(this.#ids, id, () => {
      const found = this.#rowIdsOf(id)
        .map((rowId) => this.chat(rowId))
        .filter((chat) => chat !== undefined);
      return found.sort(
        (a, b) => Number(b.guid === id) - Number(a.guid === id) || this.ranking.compare(a.rowId, b.rowId),
      );
    });
  }

  /** The best of them, when all that its list needs has been read: that may take more than one turn. */
  chatOf(id: string, turn: Turn): Chat | undefined | NotYet {
    const rowIds = this.#ids.has(id) ? [] : this.#rowIdsOf(id);
    if (rowIds.length > 1 && !rowIds.every((rowId) => this.isOrdered(rowId, turn))) return NOT_YET;
    const [chat] = this.chatsOf(id);
    return chat === undefined || this.isOrdered(chat.rowId, turn) ? chat : NOT_YET;
  }

  /** False when the turn was over before the order of the chat's rows (or of all) was known. */
  isOrdered(chatId: number | undefined, turn: Turn): boolean {
    return !this.hasOddDates(chatId) || this.undated(chatId).read(turn);
  }

  undated(chatId: number | undefined): Undated {
    return remember(this.#undated, chatId, () => new Undated(this.database, chatId));
  }

  attachments(rowId: number): readonly string[] {
    const { database } = this;
    return database
      .all(database.queries.attachments, rowId)
      .map(([filename]) => database.paths.absolute(toText(filename)))
      .filter((path) => path !== undefined);
  }

  rowIdOf(guid: string): number | undefined {
    return this.database.get(this.database.queries.rowIdOfGuid, guid)?.[0] as number | undefined;
  }

  onUndecodable(rowId: number): void {
    this.database.log.debug('a message body could not be decoded', { rowId });
  }

  /** True when some row of the chat (or of all) is dated otherwise than in nanoseconds. */
  hasOddDates(chatId: number | undefined): boolean {
    return remember(this.#oddDates, chatId, () => {
      const { hasOddDates } = this.database.queries;
      const row =
        chatId === undefined
          ? this.database.get(hasOddDates.all)
          : this.database.get(hasOddDates.chat, chatId, chatId, chatId);
      return row?.[0] !== 0;
    });
  }

  bookmark(key: string): Place | undefined {
    return this.#bookmarks.get(key);
  }

  setBookmark(key: string, place: Place): void {
    if (this.#bookmarks.size >= MOST_BOOKMARKS) this.#bookmarks.clear();
    this.#bookmarks.set(key, place);
  }

  #rowIdsOf(id: string): readonly number[] {
    return this.database.all(this.database.chatQueries.rowIds, ...spellingsOf(id)).map(([rowId]) => rowId as number);
  }

  #readChat(rowId: number): Chat | undefined {
    const { database } = this;
    const row = database.get(database.chatQueries.chat, rowId);
    if (row === undefined) return undefined;
    const [guid, displayName, style, ownAddress, service] = row;
    const text = toText(guid);
    const isGroup = typeof style === 'number' ? style === STYLE_GROUP : text.includes(';+;');
    const serviceName = toText(service);
    let participants: readonly string[] | undefined;
    const chat: Chat = {
      rowId,
      guid: text,
      displayName: toText(displayName) || null,
      ownAddress: toText(ownAddress),
      service: serviceName === '' || serviceName.toLowerCase() === 'any' ? null : serviceName,
      participants: () => {
        participants ??= this.#readParticipants(rowId);
        return participants;
      },
      counterpart: () => (!isGroup && chat.participants().length === 1 ? (chat.participants()[0] ?? '') : ''),
    };
    return chat;
  }

  #readParticipants(chatId: number): readonly string[] {
    const rows = this.database.all(this.database.chatQueries.participants, chatId);
    return [...new Set(rows.map(([id]) => toText(id)).filter((id) => id !== ''))];
  }
}

function remember<Key, Value>(known: Map<Key, Value>, key: Key, learn: () => Value): Value {
  const value = known.get(key);
  if (value !== undefined || known.has(key)) return value as Value;
  const learned = learn();
  known.set(key, learned);
  return learned;
}
