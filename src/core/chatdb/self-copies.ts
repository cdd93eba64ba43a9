import { basename } from 'node:path';
import type { Message } from '../model/message.ts';
import type { Row } from '../runtime/sqlite.ts';
import { perSchema } from './chatdb-handle.ts';
import { DETAIL_COLUMNS, INT_PARAM, MESSAGE_COLUMNS, toText } from './columns.ts';
import { toMessage } from './message.ts';
import { messageParts } from './queries.ts';
import { anyChat } from './row-chat.ts';
import { isMessage } from './row-kinds.ts';
import type { Snapshot } from './snapshot.ts';

/**
 * Maximum time between the two rows of a message to oneself (decision U7). On macOS 26 the incoming row was dated
 * 17:32:03 and the outgoing row 17:36:47 (KiroCrew #5255).
 */
const COPY_MS = 600_000;
/**
 * Maximum time between the two rows of a message to oneself if the outgoing row has lost its content (openclaw
 * #135704).
 */
const EMPTY_COPY_MS = 30_000;
/** Maximum number of rows that a search for the other row of a message to oneself reads. */
const MAX_ROWS = 1000;
/** If no index finds rows by date, the search covers this many row ids before and after the known row. */
const ROWS_AROUND = 100;
const NANOSECONDS_FROM = 10_000_000_000;

interface CopyQueries {
  /**
   * SQL for `MESSAGE_COLUMNS` of the messages of a chat in one direction. Parameters: first and last date (without
   * `isByDate`: first and last row id), is_from_me, row id of the chat.
   */
  readonly rows: string;
  readonly isByDate: boolean;
}

const copyQueriesOf = perSchema((schema): CopyQueries => {
  const isByDate = schema.hasIndex('message', 'date');
  const columns = MESSAGE_COLUMNS.select(messageParts(schema, anyChat(schema)));
  return {
    rows: `SELECT ${columns} FROM ${isByDate ? schema.messagesByIndex : 'message'} m WHERE ${isByDate ? 'm.date' : 'm.ROWID'} BETWEEN ${INT_PARAM} AND ${INT_PARAM}
      AND m.is_from_me = ${INT_PARAM} AND ${isMessage(schema)} AND ${anyChat(schema)} = ${INT_PARAM}
      LIMIT ${MAX_ROWS}`,
    isByDate,
  };
});

/** Returns the owner's addresses in a row of `DETAIL_COLUMNS`; "" for each missing address. */
export function ownAddressesOf(row: Row): readonly string[] {
  const { at } = DETAIL_COLUMNS;
  return [toText(row[at.caller]), toText(row[at.account]).replace(/^[EP]:/, '')];
}

/**
 * Reports whether a message is the incoming copy of a message to oneself, which Messages stores as two rows: one
 * outgoing, one incoming (decisions I5, U7).
 */
export function isMirror(snapshot: Snapshot, message: Message, ownAddresses: readonly string[]): boolean {
  if (message.is_from_me || message.sender === '') return false;
  const chat = selfChatOf(snapshot, message, ownAddresses);
  if (chat === undefined || snapshot.chat(chat)?.counterpart() !== message.sender) return false;
  return rowsNear(snapshot, message, chat, true).some((own) => isCopy(message, own));
}

/** Returns the row ids of the incoming copies that Messages stored before an outgoing message to oneself. */
export function earlierCopiesOf(snapshot: Snapshot, own: Message): readonly number[] {
  const chat = own.is_from_me ? selfChatOf(snapshot, own, [own.sender]) : undefined;
  if (chat === undefined) return [];
  return rowsNear(snapshot, own, chat, false)
    .filter((other) => Number(other.id) < Number(own.id) && isCopy(other, own))
    .map(({ id }) => Number(id));
}

/** Returns the row id of a message's chat if that chat is the owner's conversation with oneself, else undefined. */
function selfChatOf(snapshot: Snapshot, message: Message, ownAddresses: readonly string[]): number | undefined {
  const chat = snapshot.chatsWithId(message.conversation_id).find(({ guid }) => guid === message.conversation_id);
  const counterpart = chat?.counterpart().toLowerCase() ?? '';
  if (chat === undefined || counterpart === '') return undefined;
  const own = [...ownAddresses, chat.ownAddress ?? ''].map((address) => address.toLowerCase());
  return own.includes(counterpart) ? chat.rowId : undefined;
}

function isCopy(incoming: Message, own: Message): boolean {
  const apartMs = Math.abs(Date.parse(own.timestamp) - Date.parse(incoming.timestamp));
  if (contentOf(own) === NO_CONTENT) return apartMs <= EMPTY_COPY_MS;
  return apartMs <= COPY_MS && contentOf(own) === contentOf(incoming);
}

/**
 * Returns the content by which the two rows of a message to oneself are compared: text and file names. Omits the
 * folders of the files, which differ between the two rows.
 */
function contentOf({ body, attachments }: Message): string {
  return [body, ...attachments.map((path) => basename(path))].join('\0');
}

const NO_CONTENT = '';

function rowsNear(snapshot: Snapshot, message: Message, chat: number, isFromMe: boolean): readonly Message[] {
  const { database } = snapshot;
  const { rows, isByDate } = copyQueriesOf(database.schema);
  const rowId = Number(message.id);
  const [from, to] = isByDate ? datesAround(snapshot, rowId) : [rowId - ROWS_AROUND, rowId + ROWS_AROUND];
  return database.all(rows, from, to, isFromMe ? 1 : 0, chat).map((row) => toMessage(row, snapshot));
}

/**
 * Returns the dates `COPY_MS` before and after a row's date, in the unit of the stored date: seconds or nanoseconds.
 */
function datesAround({ database }: Snapshot, rowId: number): readonly [bigint, bigint] {
  const stored = database.get('SELECT CAST(date AS TEXT) FROM message WHERE ROWID = ?', rowId)?.[0];
  const date = BigInt(/^-?\d+$/.exec(toText(stored))?.[0] ?? '0');
  const unit = date > BigInt(NANOSECONDS_FROM) ? 1_000_000n : undefined;
  const width = unit === undefined ? BigInt(COPY_MS / 1000) : BigInt(COPY_MS) * unit;
  return [date - width, date + width];
}
