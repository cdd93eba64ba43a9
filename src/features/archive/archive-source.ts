import {
  anyChat,
  type ChatDbHandle,
  type Connection,
  column,
  columnList,
  damageSentence,
  ENTRY_COLUMNS,
  INT_PARAM,
  instantAt,
  isCorrupt,
  isListed,
  isPartOfPoll,
  listedChat,
  MAX_LARGE_BYTES,
  messageParts,
  perSchema,
  printSql,
  printsWith,
  ReactedTo,
  reactionDetailsOf,
  reactionParts,
  type Snapshot,
  TEXT_PARAM,
  textBytes,
  toRowEntry,
  toText,
  toUnixMs,
  withDetails,
} from '../../core/chatdb/public.ts';
import type { Event } from '../../core/model/event.ts';
import { NO_PRINT, type Print } from '../../core/model/fingerprint.ts';
import type { Reaction } from '../../core/model/reaction.ts';
import type { Notes } from '../../core/model/sentence.ts';
import type { Row } from '../../core/runtime/sqlite.ts';

/** The columns that are read from every row, to decide whether its content must be read. */
const ARCHIVED_COLUMNS = columnList({
  rowId: 'value',
  guid: 'value',
  date: 'date',
  bytes: 'value',
  chat: 'value',
  print: 'value',
});

const { at } = ARCHIVED_COLUMNS;

/** A conversation as chat.db describes it. */
export interface SourceChat {
  readonly guid: string;
  readonly displayName: string | null;
  readonly isGroup: boolean;
  readonly participants: readonly string[];
}

/** A row that the API lists, without its content. `entries` reads the content. */
export interface SourceRow {
  readonly rowId: number;
  readonly guid: string;
  readonly print: Print;
  /** Row id of the row's conversation; undefined if the row is in none. */
  readonly chat: number | undefined;
  /** The row's date in milliseconds since 1970. */
  readonly datedMs: number;
  /** Total size of the row's texts and blobs in bytes. */
  readonly bytes: number;
}

/** A row as the API shows it, but without contacts' names and without facts that only a running service knows. */
export interface SourceEntry {
  readonly rowId: number;
  readonly guid: string;
  readonly event: Event;
}

interface SourceQueries {
  /** `ENTRY_COLUMNS` of the rows with these ids. Parameter: a JSON array of row ids. */
  readonly entries: string;
  /** `ARCHIVED_COLUMNS` of listed rows in ascending order. Parameters: row id to begin after, highest row id, limit. */
  readonly rows: string;
  /** `ARCHIVED_COLUMNS` of the listed row with a guid. Parameter: guid. */
  readonly listed: string;
}

/**
 * Maximum total size of rows read at once, in bytes: half of `MAX_LARGE_BYTES`, the limit of one read. The other half
 * is for the rows' attachments.
 */
const MAX_BYTES_AT_ONCE = MAX_LARGE_BYTES / 2;

const sourceQueriesOf = perSchema((schema): SourceQueries => {
  const blobBytes = (name: string): string => `ifnull(length(${column(schema, name)}), 0)`;
  const columns = ARCHIVED_COLUMNS.select({
    rowId: 'm.ROWID',
    guid: 'm.guid',
    date: 'm.date',
    bytes: `${textBytes(schema)} + ${blobBytes('message_summary_info')} + ${blobBytes('payload_data')}`,
    chat: listedChat(schema),
    print: printSql(schema),
  });
  const entry = ENTRY_COLUMNS.select({ ...messageParts(schema, anyChat(schema)), ...reactionParts(schema) });
  return {
    entries: `SELECT ${entry} FROM json_each(?) i CROSS JOIN message m ON m.ROWID = i.value`,
    rows: `SELECT ${columns} FROM message m WHERE m.ROWID > ${INT_PARAM} AND m.ROWID <= ${INT_PARAM}
        AND ${isListed(schema)} AND NOT ${isPartOfPoll(schema)}
      ORDER BY m.ROWID LIMIT ${INT_PARAM}`,
    listed: `SELECT ${columns} FROM ${schema.messagesByIndex} m WHERE m.guid = ${TEXT_PARAM} AND ${isListed(schema)}`,
  };
});

/**
 * Reads chat.db for an archive, in slices. Each slice is read at one commit, but a later slice may show a later commit.
 * Every method throws `chat_db_unavailable` while chat.db is unreadable.
 */
export class ArchiveSource {
  readonly #connection: Connection;
  #reactedTo: { readonly fileId: string; readonly messages: ReactedTo } | undefined;

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  /** Identifies the chat.db file. Changes when another file replaces it. */
  get databaseId(): string {
    this.#connection.check();
    return this.#connection.fileId;
  }

  /** Returns the numbers of rows that this run could not read, by table, and a sentence that names them. */
  unreadable(): { readonly rows: Readonly<Record<string, number>>; readonly sentence: string | undefined } {
    const { damage } = this.#connection;
    const tables = damage?.tables.filter(({ rowIds }) => rowIds.length > 0) ?? [];
    return {
      rows: Object.fromEntries(tables.map(({ table, rowIds }) => [table, rowIds.length])),
      sentence: damage && damageSentence(damage),
    };
  }

  /** Returns those of these guids whose rows are in chat.db but cannot be read. */
  withUnreadableRow(guids: readonly string[]): ReadonlySet<string> {
    const { damage } = this.#connection;
    if (damage === undefined || guids.length === 0) return new Set();
    const skipped = new Set(damage.tables.find(({ table }) => table === 'message')?.skipped);
    return this.#connection.read(({ database }) => new Set(guids.filter((guid) => isSkipped(database, guid, skipped))));
  }

  /** Returns the conversation with exactly this guid. Ignores guids that differ only in the service prefix. */
  chat(guid: string): SourceChat | undefined {
    return this.#connection.read((snapshot) => {
      const chat = snapshot.chatsNamed(guid).find((one) => one.guid === guid);
      if (chat === undefined) return undefined;
      const { displayName, isGroup } = chat;
      return { guid, displayName, isGroup, participants: chat.participants() };
    });
  }

  /**
   * Returns the row ids of the conversations that have one of these guids, or one that differs only in the service
   * prefix.
   */
  chatRowIds(guids: readonly string[]): ReadonlySet<number> {
    return this.#connection.read(
      (snapshot) => new Set(guids.flatMap((guid) => snapshot.chatsWithId(guid).flatMap(({ rowIds }) => rowIds))),
    );
  }

  /** Returns how features say what they add to a message. */
  notes(): readonly Notes[] {
    return this.#connection.read(({ database }) => database.decoders);
  }

  /** Returns every address in the `handle` table of chat.db. */
  addresses(): readonly string[] {
    return this.#connection.read(({ database }) => {
      const found = database.all('SELECT DISTINCT id FROM handle').map(([id]) => toText(id));
      return found.filter((address) => address !== '');
    });
  }

  count(): number {
    return this.#connection.read(({ database }) => Number(database.get('SELECT count(*) FROM message')?.[0]));
  }

  highestRowId(): number {
    return this.#connection.read(({ database }) =>
      Number(database.get(`SELECT ifnull(max(ROWID), 0) FROM message WHERE ROWID <= ${Number.MAX_SAFE_INTEGER}`)?.[0]),
    );
  }

  /**
   * Returns the listed rows with row ids greater than `after` and up to `upTo`: at most `limit` rows, in ascending
   * order.
   */
  rows(after: number, upTo: number, limit: number): readonly SourceRow[] {
    return this.#connection.read((snapshot) => {
      const { database } = snapshot;
      const rows = database.all(sourceQueriesOf(database.schema).rows, after, upTo, limit);
      const prints = printsWith(
        snapshot,
        rows.map((row) => [row[at.rowId] as number, row[at.print] ?? null]),
      );
      return rows.map((row) => toSourceRow(row, prints.get(row[at.rowId] as number) ?? NO_PRINT));
    });
  }

  /** Yields the content of `rows` in slices and in their order. Omits rows that were deleted after they were listed. */
  *entries(rows: readonly SourceRow[]): Generator<readonly SourceEntry[]> {
    let from = 0;
    while (from < rows.length) {
      let bytes = 0;
      let to = from;
      do {
        bytes += rows[to]?.bytes ?? 0;
        to += 1;
      } while (to < rows.length && bytes + (rows[to]?.bytes ?? 0) <= MAX_BYTES_AT_ONCE);
      const slice = rows.slice(from, to);
      yield this.#read(slice);
      from = to;
    }
  }

  /**
   * Reads the entries of these rows at one commit. One read decodes a limited number of bytes, including attachments. A
   * row whose content exceeded the limit is read again alone, possibly at a later commit.
   */
  #read(rows: readonly SourceRow[]): readonly SourceEntry[] {
    const entries = this.#connection.read((snapshot) => entriesOf(snapshot, rows, this.#reactedToIn(snapshot)));
    if (rows.length === 1 || entries.every((entry) => !isPartlyRead(entry))) return entries;
    const byId = new Map(rows.map((row) => [row.rowId, row]));
    return entries.flatMap((entry) => {
      const row = byId.get(entry.rowId);
      return row !== undefined && isPartlyRead(entry) ? this.#read([row]) : [entry];
    });
  }

  /**
   * Returns the filter for messages with reactions, loaded once per chat.db file. A reaction that arrives during the
   * run is not included. The next run finds that the reaction's message has changed, and reads that message again.
   */
  #reactedToIn({ database, queries }: Snapshot): ReactedTo | undefined {
    const { fileId } = this.#connection;
    if (queries.reactions === undefined) return undefined;
    if (this.#reactedTo?.fileId !== fileId) this.#reactedTo = { fileId, messages: new ReactedTo(database) };
    return this.#reactedTo.messages;
  }

  /**
   * Returns the listed rows with these guids. Key: the guid. Does not compute prints: each row's `print` is `NO_PRINT`.
   */
  listed(guids: readonly string[]): ReadonlyMap<string, SourceRow> {
    return this.#connection.read(({ database }) => {
      const { listed } = sourceQueriesOf(database.schema);
      const found = guids.map((guid) => database.get(listed, guid)).filter((row) => row !== undefined);
      return new Map(found.map((row) => toSourceRow(row, NO_PRINT)).map((row) => [row.guid, row]));
    });
  }
}

/** The index by guid still knows a row whose own page is damaged. If the index is damaged, the row may be there. */
function isSkipped(database: ChatDbHandle, guid: string, skipped: ReadonlySet<number>): boolean {
  try {
    const rowId = database.get('SELECT ROWID FROM main.message WHERE guid = ?', guid)?.[0];
    return rowId !== undefined && skipped.has(Number(rowId));
  } catch (error) {
    if (!isCorrupt(error)) throw error;
    return true;
  }
}

function toSourceRow(row: Row, print: Print): SourceRow {
  return {
    rowId: row[at.rowId] as number,
    guid: toText(row[at.guid]),
    print,
    chat: (row[at.chat] ?? undefined) as number | undefined,
    datedMs: toUnixMs(instantAt(row, at.date)),
    bytes: Number(row[at.bytes] ?? 0),
  };
}

function isPartlyRead({ event }: SourceEntry): boolean {
  return event.data.details?.content_left_out === true;
}

function entriesOf(
  snapshot: Snapshot,
  rows: readonly SourceRow[],
  reactedTo: ReactedTo | undefined,
): readonly SourceEntry[] {
  const { entries } = sourceQueriesOf(snapshot.database.schema);
  const rowIds = JSON.stringify(rows.map(({ rowId }) => rowId));
  return snapshot.database.all(entries, rowIds).map((row) => {
    const { rowId, guid, event } = toRowEntry(row, snapshot);
    return { rowId, guid, event: withEverything(snapshot, event, reactedTo) };
  });
}

function withEverything(snapshot: Snapshot, event: Event, reactedTo: ReactedTo | undefined): Event {
  if (isOfReaction(event)) {
    const details = reactionDetailsOf(snapshot, event.data);
    return details === undefined ? event : { type: event.type, data: { ...event.data, details } };
  }
  return { type: event.type, data: withDetails(snapshot, event.data, reactedTo) };
}

function isOfReaction(event: Event): event is Extract<Event, { readonly data: Reaction }> {
  return event.type === 'reaction.added' || event.type === 'reaction.removed';
}
