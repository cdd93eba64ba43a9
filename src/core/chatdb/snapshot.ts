import { chatGuidVariants, normalAddress, normalId } from '../model/address.ts';
import { isHiddenFilter } from '../model/details.ts';
import type { SqlValue } from '../runtime/sqlite.ts';
import { type Chat, counterpartIn, joinedChat } from './chat.ts';
import type { ChatDbHandle } from './chatdb-handle.ts';
import { CHAT_COLUMNS, toText } from './columns.ts';
import type { StoredBlob } from './content/row-budget.ts';
import { MAX_BLOB_BYTES } from './content/typedstream.ts';
import { type JoinedChats, joinedChatsIn } from './joined-chats.ts';
import { dateQueriesOf, UNINDEXED } from './list-queries.ts';
import { filterOfChat } from './message-filter.ts';
import { accountAddress, type OwnAddresses, ownAddressesIn } from './own-addresses.ts';
import { type Queries, queriesOf } from './queries.ts';
import { Spellings } from './spellings.ts';

/** Facts about the dates of the rows of a chat, or of all chats. */
export interface ListDates {
  /**
   * True if some rows are dated in seconds instead of nanoseconds (decision B6). The date index sorts such rows apart
   * from the others.
   */
  readonly hasSeconds: boolean;
  /**
   * Number of rows that the date index does not sort by time, such as rows without a date. Counts at most
   * `MAX_COUNTED` rows of each such kind.
   */
  readonly unindexed: number;
}

const MAX_KNOWN_IDS = 1000;
export const STYLE_GROUP = 43;
/**
 * Maximum total bytes of the bodies above `SMALL_BODY_BYTES` that one read decodes: as much as two hundred long
 * letters. Only an attack exceeds it. The remaining messages with such bodies appear without text (decision B2).
 */
export const MAX_LARGE_BYTES = 4_194_304;
/**
 * Maximum total bytes of content that one read decodes, from blobs and files: as much as a hundred drawings. Only an
 * attack exceeds it.
 */
const MAX_CONTENT_BYTES = 16_777_216;
/**
 * Number of steps (`RowBudget`) after which one read decodes no more content: those of two hundred contact cards with
 * pictures, or of a thousand links. Only an attack exceeds it.
 */
const MAX_CONTENT_STEPS = 200_000;

/**
 * Caches chats and handles for one state of the database, so that each is read once instead of once per row. Discarded
 * when `PRAGMA data_version` changes, so it is never stale.
 */
export class Snapshot {
  readonly database: ChatDbHandle;
  readonly queries: Queries;
  readonly spellings: Spellings;
  readonly #handles = new Map<number, string | undefined>();
  #ownAddresses: OwnAddresses | undefined;
  readonly #chats = new Map<number, Chat | undefined>();
  readonly #ids = new Map<string, readonly number[]>();
  readonly #named = new Map<string, readonly number[]>();
  readonly #dates = new Map<number | undefined, ListDates>();
  #joined: ReadonlyMap<number, JoinedChats> | undefined;

  #largeBytesLeft = MAX_LARGE_BYTES;
  #contentBytesLeft = MAX_CONTENT_BYTES;
  #contentStepsLeft = MAX_CONTENT_STEPS;
  #leftOut = 0;
  #isRowLeftOut = false;

  constructor(database: ChatDbHandle) {
    this.database = database;
    this.queries = queriesOf(database.schema);
    this.spellings = new Spellings(database);
  }

  /**
   * Begins a read. Allows it to decode `MAX_LARGE_BYTES` of large bodies, and `MAX_CONTENT_BYTES` of content blobs in
   * about `MAX_CONTENT_STEPS`.
   */
  beginRead(): void {
    this.#largeBytesLeft = MAX_LARGE_BYTES;
    this.#contentBytesLeft = MAX_CONTENT_BYTES;
    this.#contentStepsLeft = MAX_CONTENT_STEPS;
  }

  /** Number of content blobs that this snapshot left out so far, because a read had exhausted a limit for all. */
  get leftOut(): number {
    return this.#leftOut;
  }

  /** Runs `decode`, which decodes content of this row, and notes that it does. */
  decoding<Result>(rowId: number, decode: () => Result): Result {
    const { decoding } = this.database.parts;
    if (decoding === undefined) return decode();
    this.#isRowLeftOut = decoding.isLeftOut(rowId);
    decoding.begin(rowId);
    try {
      return decode();
    } finally {
      decoding.end();
      this.#isRowLeftOut = false;
    }
  }

  /** True while `decoding` runs for a row whose content is left out. */
  get isRowLeftOut(): boolean {
    return this.#isRowLeftOut;
  }

  /**
   * Returns a selected content blob; undefined if it is missing or exceeds the limits of this read. Returns
   * `too_large` if the query selected the blob's length in its place, or if the row's content is left out.
   */
  storedBlob(value: SqlValue | undefined): StoredBlob {
    if (typeof value === 'number') return 'too_large';
    if (typeof value !== 'object' || value === null) return undefined;
    if (this.#isRowLeftOut) return 'too_large';
    return this.mayDecode(value.length) ? value : undefined;
  }

  /**
   * Spends bytes of content of this read. Returns false, and counts the content as left out, if that exceeds a limit.
   */
  mayDecode(bytes: number): boolean {
    if (this.#contentStepsLeft > 0 && bytes <= this.#contentBytesLeft) {
      this.#contentBytesLeft -= bytes;
      return true;
    }
    this.#leftOut += 1;
    return false;
  }

  /** Spends the steps of a row of this read. A row that was begun is decoded whole, so the last one may exceed them. */
  spendSteps(steps: number): void {
    this.#contentStepsLeft -= steps;
  }

  /**
   * Reads an attributedBody that is too large to be selected with its row. Returns undefined if it exceeds
   * `MAX_BLOB_BYTES`, or the rest of `MAX_LARGE_BYTES` that this read may still decode.
   */
  largeBody(rowId: number, bytes: number): Uint8Array | undefined {
    if (bytes > Math.min(MAX_BLOB_BYTES, this.#largeBytesLeft)) return undefined;
    this.#largeBytesLeft -= bytes;
    const body = this.database.get(this.queries.attributedBody, rowId)?.[0];
    return typeof body === 'object' && body !== null ? body : undefined;
  }

  /**
   * Returns a blob that was selected whole; undefined if it is missing, if its length was selected in its place, or if
   * it exceeds the rest of `MAX_LARGE_BYTES` that this read may still decode.
   */
  largeBlob(value: SqlValue | undefined): Uint8Array | undefined {
    if (typeof value !== 'object' || value === null || value.length > this.#largeBytesLeft) return undefined;
    this.#largeBytesLeft -= value.length;
    return value;
  }

  /** Returns the address of a handle; undefined if the handle is missing or has no address. */
  address(handleId: number): string | undefined {
    return remember(this.#handles, handleId, () => {
      const id = toText(this.database.get(this.queries.handle, handleId)?.[0]);
      return id === '' ? undefined : id;
    });
  }

  /** Returns the chat, or the conversation that it is a part of. */
  chat(rowId: number): Chat | undefined {
    return remember(this.#chats, rowId, () => {
      const joined = this.#joinedWith(rowId);
      const [oldest] = joined?.rowIds ?? [];
      if (joined === undefined || oldest === undefined) return this.#readChat(rowId);
      if (oldest !== rowId) return this.chat(oldest);
      const parts = joined.rowIds.map((one) => this.#readChat(one)).filter((one) => one !== undefined);
      return joinedChat(
        parts,
        parts.find((one) => one.rowId === joined.newest),
      );
    });
  }

  /** Returns the chats with exactly this guid, also as one of several. A damaged database may have two. */
  chatsNamed(guid: string): readonly Chat[] {
    if (this.#named.size >= MAX_KNOWN_IDS) this.#named.clear();
    const rowIds = remember(this.#named, guid, () => this.#rowIdsOf(this.queries.chatsNamed, guid));
    return this.#chatsOf(rowIds);
  }

  /** Returns the row id of the conversation that a chat is a part of, without reading the chat. */
  conversationRowId(chatId: number): number {
    return this.#joinedWith(chatId)?.rowIds[0] ?? chatId;
  }

  #joinedWith(rowId: number): JoinedChats | undefined {
    this.#joined ??= joinedChatsIn(this.database);
    return this.#joined.get(rowId);
  }

  /** Returns the chats that an id may refer to, in any order (decision B4). */
  chatsWithId(id: string): readonly Chat[] {
    if (this.#ids.size >= MAX_KNOWN_IDS) this.#ids.clear();
    const rowIds = remember(this.#ids, id, () => {
      const withGuid = (guid: string) => this.#rowIdsOf(this.queries.chatRowIds, ...chatGuidVariants(guid));
      const normal = normalId(id);
      return [...withGuid(id), ...(normal === id ? [] : withGuid(normal)), ...this.spellings.chatsWithId(id)];
    });
    return this.#chatsOf(rowIds);
  }

  #rowIdsOf(sql: string, ...guids: readonly string[]): readonly number[] {
    return this.database.all(sql, ...guids).map(([rowId]) => rowId as number);
  }

  #chatsOf(rowIds: readonly number[]): readonly Chat[] {
    return [...new Set(rowIds.map((rowId) => this.chat(rowId)))].filter((chat) => chat !== undefined);
  }

  /** Returns facts about the dates of a chat, or of all chats if `chatId` is undefined. */
  dates(chatId: number | undefined): ListDates {
    return remember(this.#dates, chatId, () => {
      const { all, chat } = dateQueriesOf(this.database.schema);
      const row =
        chatId === undefined ? this.database.get(all) : this.database.get(chat, chatId, ...UNINDEXED.map(() => chatId));
      return { hasSeconds: row?.[0] === 1, unindexed: Number(row?.[1] ?? 0) };
    });
  }

  rowIdOf(guid: string): number | undefined {
    return this.database.get(this.queries.rowIdOfGuid, guid)?.[0] as number | undefined;
  }

  #readChat(rowId: number): Chat | undefined {
    const { at } = CHAT_COLUMNS;
    const row = this.database.get(this.queries.chat, rowId);
    if (row === undefined) return undefined;
    const guid = toText(row[at.guid]);
    const style = row[at.style];
    const isGroup = typeof style === 'number' ? style === STYLE_GROUP : guid.includes(';+;');
    const service = toText(row[at.service]);
    const filter = filterOfChat(row[at.isFiltered], row[at.isBlackholed]);
    let participants: readonly string[] | undefined;
    const chat: Chat = {
      rowId,
      rowIds: [rowId],
      guid,
      otherIds: [],
      sendId: guid,
      displayName: (isGroup && toText(row[at.displayName])) || null,
      ownAddress: accountAddress(toText(row[at.ownAddress])),
      isGroup,
      service: service === '' || service.toLowerCase() === 'any' ? null : service,
      filter,
      isFiltered: isHiddenFilter(filter),
      participants: () => {
        participants ??= this.#readParticipants(rowId, isGroup);
        return participants;
      },
      counterpart: () => (isGroup ? '' : counterpartIn(guid, chat.participants())),
    };
    return chat;
  }

  #readParticipants(chatId: number, isGroup: boolean): readonly string[] {
    const rows = this.database.all(this.queries.participants, chatId);
    const found = [...new Set(rows.map(([id]) => toText(id)).filter((id) => id !== ''))];
    return isGroup ? found : this.withoutOwner(found);
  }

  /** The owner's addresses, as chat.db stores them. */
  get ownAddresses(): ReadonlySet<string> {
    return this.#own.stored;
  }

  /** Reports whether an address is the owner's, however it is written. */
  isOwnAddress(address: string): boolean {
    return this.#own.inNormalForm.has(normalAddress(address));
  }

  get #own(): OwnAddresses {
    this.#ownAddresses ??= ownAddressesIn(this.database);
    return this.#ownAddresses;
  }

  /**
   * Returns the members of a one-to-one chat without the owner, whom imports from iCloud list too (decision AB1). A
   * chat of the owner's addresses alone keeps them.
   */
  withoutOwner(members: readonly string[]): readonly string[] {
    if (members.length < 2) return members;
    const others = members.filter((address) => !this.isOwnAddress(address));
    return others.length === 0 ? members : others;
  }
}

/** Reports whether a selected blob, or the length selected in its place, is not empty. */
export function isFilled(blob: SqlValue | undefined): boolean {
  return typeof blob === 'number' || (typeof blob === 'object' && blob !== null && blob.length > 0);
}

/** Returns the cached value of a key, computed on first use. */
function remember<Key, Value>(known: Map<Key, Value>, key: Key, learn: () => Value): Value {
  const value = known.get(key);
  if (value !== undefined || known.has(key)) return value as Value;
  const learned = learn();
  known.set(key, learned);
  return learned;
}
