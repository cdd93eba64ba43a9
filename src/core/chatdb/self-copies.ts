import { basename } from 'node:path';
import { addressOf, normalAddress } from '../model/address.ts';
import type { Message } from '../model/message.ts';
import type { SentUnseen } from '../model/ports/sent-parts-ports.ts';
import type { Row } from '../runtime/sqlite.ts';
import type { Chat } from './chat.ts';
import { DETAIL_COLUMNS, INT_PARAM, MAX_INTEGER, MESSAGE_COLUMNS, TEXT_PARAM, toText } from './columns.ts';
import { bodyOf, countPlaceholders, toMessage } from './message.ts';
import { accountAddress } from './own-addresses.ts';
import { messageParts } from './queries.ts';
import { anyChat } from './row-chat.ts';
import { isMessage } from './row-kinds.ts';
import { perSchema } from './schema-info.ts';
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
   * SQL for `MESSAGE_COLUMNS` of the messages of some chats in one direction, and then whether the row has a file,
   * named or not. Parameters: first and last date (without `isByDate`: first and last row id), is_from_me, a JSON array
   * of row ids of chats.
   */
  readonly rows: string;
  readonly isByDate: boolean;
}

const copyQueriesOf = perSchema((schema): CopyQueries => {
  const isByDate = schema.hasIndex('message', 'date');
  const columns = MESSAGE_COLUMNS.select(messageParts(schema, anyChat(schema)));
  const announces = schema.hasColumn('message', 'cache_has_attachments') ? 'm.cache_has_attachments' : '0';
  return {
    rows: `SELECT ${columns}, ${announces} OR EXISTS (SELECT 1 FROM message_attachment_join WHERE message_id = m.ROWID)
      FROM ${isByDate ? schema.messagesByIndex : 'message'} m
      WHERE ${isByDate ? 'm.date' : 'm.ROWID'} BETWEEN ${INT_PARAM} AND ${INT_PARAM} AND m.is_from_me = ${INT_PARAM}
      AND ${isMessage(schema)} AND ${anyChat(schema)} IN (SELECT value FROM json_each(${TEXT_PARAM}))
      LIMIT ${MAX_ROWS}`,
    isByDate,
  };
});

/** Returns the owner's addresses in a row of `DETAIL_COLUMNS`; "" for each missing address. */
export function ownAddressesOf(row: Row): readonly string[] {
  const { at } = DETAIL_COLUMNS;
  return [row[at.caller], row[at.account]].map((stored) => accountAddress(toText(stored)));
}

/** A message that may be one of the two rows of a message to oneself. */
interface Half {
  readonly rowId: number;
  readonly atMs: number;
  readonly text: string;
  /** Text and file names, without the folders of the files, which differ between the two rows. */
  readonly content: string;
  readonly hasFile: boolean;
}

/**
 * Reports whether a message is the incoming copy of a message to oneself, which Messages stores as two rows, in any of
 * the owner's threads (decisions U7, AB5). `sent` holds what is known to have been sent besides the outgoing rows: the
 * texts equal to the message's that Messages was given for a chat and whose row was not found.
 */
export function isMirror(
  snapshot: Snapshot,
  message: Message,
  ownAddresses: readonly string[] = [],
  sent: readonly SentUnseen[] = [],
): boolean {
  const thread = incomingThread(snapshot, message, ownAddresses);
  if (thread === undefined) return false;
  const rowId = Number(message.id);
  const [incoming, own] = halvesNear(snapshot, rowId, thread, [thread, ...selfChats(snapshot)]);
  const threads = [thread, ...selfChats(snapshot)].map((chat) => addressOf(snapshot.chat(chat)?.guid ?? ''));
  const unseen = sent.filter(({ address }) => threads.includes(address));
  const echoes = unseen.map(
    ({ atMs }): Half => ({ rowId: 0, atMs, text: message.body, content: contentOf(message), hasFile: false }),
  );
  return copiesIn(incoming, [...own, ...echoes]).has(rowId);
}

/** Returns the row ids of the incoming copies that Messages stored before an outgoing message to oneself. */
export function earlierCopiesOf(snapshot: Snapshot, own: Message): readonly number[] {
  const chat = own.is_from_me ? chatOf(snapshot, own) : undefined;
  if (chat === undefined || !isSelfChat(snapshot, chat, [own.sender])) return [];
  const ownId = Number(own.id);
  const threads = [...new Set([chat.rowId, ...selfChats(snapshot)])];
  return threads.flatMap((thread) => {
    const [all, sent] = halvesNear(snapshot, ownId, thread, threads);
    const incoming = all.filter(({ rowId }) => rowId < ownId);
    if (incoming.length === 0) return [];
    const before = copiesIn(
      incoming,
      sent.filter(({ rowId }) => rowId < ownId),
    );
    const after = copiesIn(
      incoming,
      sent.filter(({ rowId }) => rowId <= ownId),
    );
    return [...after].filter((rowId) => !before.has(rowId));
  });
}

/** Returns the chat of an incoming message if its sender and its counterpart are both the owner, else undefined. */
function incomingThread(snapshot: Snapshot, message: Message, ownAddresses: readonly string[]): number | undefined {
  if (message.is_from_me || message.sender === '') return undefined;
  const chat = chatOf(snapshot, message);
  if (chat === undefined || !isSelfChat(snapshot, chat, ownAddresses)) return undefined;
  return isOwn(snapshot, message.sender, [...ownAddresses, chat.ownAddress]) ? chat.rowId : undefined;
}

function chatOf(snapshot: Snapshot, { conversation_id: id }: Message): Chat | undefined {
  return snapshot.chatsNamed(id)[0];
}

function isSelfChat(snapshot: Snapshot, chat: Chat, ownAddresses: readonly string[]): boolean {
  return isOwn(snapshot, chat.counterpart(), [...ownAddresses, chat.ownAddress]);
}

function isOwn(snapshot: Snapshot, address: string, ownAddresses: readonly string[]): boolean {
  if (address === '') return false;
  const key = normalAddress(address);
  return snapshot.isOwnAddress(address) || ownAddresses.some((own) => normalAddress(own) === key);
}

/** Returns the row ids of the owner's conversations with oneself: one for each address, and more after an upgrade. */
function selfChats(snapshot: Snapshot): readonly number[] {
  const ids = new Set([...snapshot.ownAddresses].flatMap((address) => [address, normalAddress(address)]));
  return [...ids].flatMap((id) =>
    snapshot
      .chatsWithId(`any;-;${id}`)
      .filter((chat) => isSelfChat(snapshot, chat, []))
      .map(({ rowId }) => rowId),
  );
}

/**
 * Returns the row ids of the incoming rows of one thread that are copies. Each message that was sent accounts for one
 * of them, the earliest, so that the same text written twice by the owner is a message.
 */
function copiesIn(incoming: readonly Half[], sent: readonly Half[]): ReadonlySet<number> {
  // A row without content may be anybody's, so that rows with the same content come first.
  const rank = ({ content, atMs }: Half): number => (content === NO_CONTENT ? Number.MAX_SAFE_INTEGER : atMs);
  const free = new Set([...sent].sort((one, other) => rank(one) - rank(other)));
  const copies = new Set<number>();
  for (const row of [...incoming].sort((one, other) => one.rowId - other.rowId)) {
    const match = [...free].find((one) => isCopy(row, one));
    if (match === undefined) continue;
    free.delete(match);
    copies.add(row.rowId);
  }
  return copies;
}

function isCopy(incoming: Half, sent: Half): boolean {
  const apartMs = Math.abs(sent.atMs - incoming.atMs);
  if (sent.content !== NO_CONTENT) return apartMs <= COPY_MS && sent.content === incoming.content;
  // A row that only lacks the name of its file has no text in its copy either.
  return apartMs <= EMPTY_COPY_MS && (!sent.hasFile || incoming.text === '');
}

const NO_CONTENT = '';

/**
 * Returns the incoming rows of a thread and the outgoing rows of all `chats` around a row. The earlier ones reach three
 * times as far as a copy may lie, because those rows can be copies of each other.
 */
function halvesNear(
  snapshot: Snapshot,
  rowId: number,
  thread: number,
  chats: readonly number[],
): readonly [readonly Half[], readonly Half[]] {
  const { database } = snapshot;
  const { rows, isByDate } = copyQueriesOf(database.schema);
  const [from, to] = isByDate
    ? datesAround(snapshot, rowId, 3 * COPY_MS, COPY_MS)
    : [rowId - ROWS_AROUND, rowId + ROWS_AROUND];
  const read = (isFromMe: number, among: readonly number[]): readonly Half[] =>
    database.all(rows, from, to, isFromMe, JSON.stringify([...new Set(among)])).map((row) => halfOf(snapshot, row));
  return [read(0, [thread]), read(1, chats)];
}

function contentOf({ body, attachments }: Pick<Message, 'body' | 'attachments'>): string {
  return [body, ...attachments.map((path) => basename(path))].join('\0');
}

function halfOf(snapshot: Snapshot, row: Row): Half {
  const { id, body, attachments, timestamp } = toMessage(row, snapshot);
  return {
    rowId: Number(id),
    atMs: Date.parse(timestamp),
    text: body,
    content: contentOf({ body, attachments }),
    hasFile: row.at(-1) === 1 || countPlaceholders(bodyOf(row, snapshot)) > 0,
  };
}

/** Returns the dates this long before and after a row's date, in the unit of that date: seconds or nanoseconds. */
export function datesAround(
  { database }: Snapshot,
  rowId: number,
  beforeMs: number,
  afterMs: number,
): readonly [bigint, bigint] {
  const stored = database.get('SELECT CAST(date AS TEXT) FROM message WHERE ROWID = ?', rowId)?.[0];
  const date = BigInt(/^-?\d+$/.exec(toText(stored))?.[0] ?? '0');
  const stride = (ms: number): bigint =>
    date > BigInt(NANOSECONDS_FROM) ? BigInt(ms) * 1_000_000n : BigInt(ms) / 1000n;
  const [from, to] = [date - stride(beforeMs), date + stride(afterMs)];
  return [from < -MAX_INTEGER ? -MAX_INTEGER : from, to > MAX_INTEGER ? MAX_INTEGER : to];
}
