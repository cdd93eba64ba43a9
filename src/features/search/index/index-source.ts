import { basename } from 'node:path';
import type { SearchedTextKind } from '../../../client/search-types.ts';
import {
  ATTACHMENT_COLUMNS,
  attachmentContentsOf,
  behindCursor,
  type Connection,
  EVERYTHING,
  hasContent,
  isListed,
  isMessage,
  isNotHidden,
  type List,
  listedChat,
  listedRows,
  MESSAGE_COLUMNS,
  messageParts,
  perSchema,
  RowBudget,
  rowContentOf,
  type Snapshot,
  type StoredAttachment,
  toMessage,
  toMessageWithFiles,
  toText,
} from '../../../core/chatdb/public.ts';
import type { MessageContent } from '../../../core/model/content.ts';
import type { Message } from '../../../core/model/message.ts';
import type { ReaderThread } from '../../../core/runtime/reader-thread.ts';
import type { Row } from '../../../core/runtime/sqlite.ts';
import type { DecodingNotes, IndexSource, ListedRows, SearchedSource } from '../ports.ts';
import type { SearchableMessage } from '../types.ts';

/** Maximum length of each text besides the body, in UTF-16 units. The rest of a longer text cannot be searched. */
const MAX_TEXT = 8192;
const SOUND = /\.(?:caf|amr|m4a)$/i;

/** Returns the message of a row with everything that it is found by. */
function searchable(snapshot: Snapshot, row: Row, notes: DecodingNotes): SearchableMessage {
  const { message, files } = toMessageWithFiles(row, snapshot);
  const fileNames = files.flatMap(namesOf);
  const texts = textsOf(snapshot, message, row.at(-1) === 1, notes);
  return { ...message, ...(fileNames.length > 0 && { fileNames }), ...(texts.length > 0 && { texts }) };
}

/** Returns the name on disk and the name that is shown, if they differ. */
function namesOf({ path, row }: StoredAttachment): readonly string[] {
  const { transferName } = ATTACHMENT_COLUMNS.at;
  const onDisk = path === null ? '' : basename(path);
  const shown = toText(row[transferName]);
  return shown === '' || shown === onDisk ? [onDisk] : [shown, ...(onDisk === '' ? [] : [onDisk])];
}

/**
 * Returns the texts of a message besides the body, such as a link's title. Decodes the row's content only if `hasMore`
 * is true or a file may have a transcript, because most rows have nothing besides their text.
 */
function textsOf(
  snapshot: Snapshot,
  message: Message,
  hasMore: boolean,
  notes: DecodingNotes,
): NonNullable<SearchableMessage['texts']> {
  const rowId = Number(message.id);
  const hasSound = message.attachments.some((path) => SOUND.test(path));
  if ((!hasMore && !hasSound) || notes.isSkipped(rowId)) return [];
  notes.begin(rowId);
  const budget = new RowBudget();
  const content: MessageContent = (hasMore ? rowContentOf(snapshot, message, false, budget)?.content : undefined) ?? {};
  const isVoice = hasSound && content.transcript === undefined;
  const voice = isVoice ? attachmentContentsOf(snapshot, rowId, [], budget).transcripts : [];
  const { link, poll, app, subject, transcript = voice.join('\n') } = content;
  const found: readonly (readonly [SearchedTextKind, readonly (string | undefined)[]])[] = [
    ['transcript', [transcript]],
    ['link', [link?.title, link?.summary, link?.site_name]],
    ['poll', [poll?.question, ...(poll?.options ?? []).map(({ text }) => text)]],
    ['app', [app?.title, app?.subtitle, app?.caption, app?.subcaption, app?.summary]],
    ['subject', [subject]],
  ];
  return found
    .map(([kind, parts]) => [kind, parts.filter(Boolean).join('\n').slice(0, MAX_TEXT)] as const)
    .filter(([, text]) => text !== '');
}

/**
 * SQL for the messages to index. Its last column is 1 if the row has content besides its text. Parameter: a JSON array
 * of row ids.
 */
const messagesSql = perSchema(
  (schema) => `SELECT ${MESSAGE_COLUMNS.select(messageParts(schema, listedChat(schema)))}, ${hasContent(schema)}
    FROM json_each(?) i CROSS JOIN message m ON m.ROWID = i.value WHERE ${isMessage(schema)}
      AND ${isListed(schema)} AND ${isNotHidden(schema)}`,
);

function rowsOf(snapshot: Snapshot, rowIds: readonly number[]): readonly (Row | undefined)[] {
  const rows = snapshot.database.all(messagesSql(snapshot.database.schema), JSON.stringify(rowIds));
  const found = new Map(rows.map((row) => [row[MESSAGE_COLUMNS.at.rowId], row]));
  return rowIds.map((rowId) => found.get(rowId));
}

const conversationSql = perSchema(
  (schema) => `SELECT ${listedChat(schema)} FROM message m WHERE m.ROWID = ? AND ${isListed(schema)}`,
);

/**
 * Performs the reads of `ChatIndexSource` in the thread of the caller, which is the main thread or the reader thread.
 * Only the reader thread calls `searchable`, if there is one.
 */
export class IndexReader implements SearchedSource {
  readonly #connection: Connection;

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  listed(after: string | undefined, limit: number): ListedRows {
    return this.#connection.read((snapshot) => {
      const all: List = { chatId: undefined, order: 'desc', ...EVERYTHING };
      return listedRows(snapshot, after === undefined ? all : behindCursor(all, after), limit);
    });
  }

  messages(rowIds: readonly number[]): readonly (Message | undefined)[] {
    return this.#connection.read((snapshot) => rowsOf(snapshot, rowIds).map((row) => row && toMessage(row, snapshot)));
  }

  searchable(rowIds: readonly number[], notes: DecodingNotes): readonly (SearchableMessage | undefined)[] {
    return this.#connection.read((snapshot) =>
      rowsOf(snapshot, rowIds).map((row) => row && searchable(snapshot, row, notes)),
    );
  }

  conversations(rowIds: readonly number[]): readonly (string | undefined)[] {
    return this.#connection.read((snapshot) =>
      rowIds.map((rowId) => {
        const chat = snapshot.database.get(conversationSql(snapshot.database.schema), rowId)?.[0];
        return typeof chat === 'number' ? snapshot.chat(chat)?.guid : undefined;
      }),
    );
  }

  count(): number {
    return this.#connection.read(({ database }) => Number(database.get('SELECT count(*) FROM message')?.[0]));
  }
}

/**
 * Reads chat.db for the search index. Lists and counts may wait for the disk, so they run in the reader thread if there
 * is one.
 */
export class ChatIndexSource implements IndexSource {
  readonly #reader: IndexReader;
  readonly #thread: ReaderThread<{ readonly index: IndexReader }> | undefined;

  constructor(connection: Connection, thread?: ReaderThread<{ readonly index: IndexReader }>) {
    this.#reader = new IndexReader(connection);
    this.#thread = thread;
  }

  async listed(after: string | undefined, limit: number): Promise<ListedRows> {
    return this.#thread === undefined
      ? this.#reader.listed(after, limit)
      : this.#thread.call('index', 'listed', after, limit);
  }

  messages(rowIds: readonly number[]): readonly (Message | undefined)[] {
    return this.#reader.messages(rowIds);
  }

  async count(): Promise<number> {
    return this.#thread === undefined ? this.#reader.count() : this.#thread.call('index', 'count');
  }
}
