import { statSync } from 'node:fs';
import { basename } from 'node:path';
import type { Conversation } from '../../domain/conversation.ts';
import {
  type AttachmentDetails,
  type AttachmentState,
  brief,
  type ConversationDetails,
  type MessageDetails,
  type MessageKind,
  type RepliedMessage,
  TRANSFER_STATES,
  type TransferState,
} from '../../domain/details.ts';
import type { Message } from '../../domain/message.ts';
import type { Reaction } from '../../domain/reaction.ts';
import type { Row } from '../../runtime/sqlite.ts';
import { ATTACHMENT_COLUMNS, DETAIL_COLUMNS, INT_PARAM, instantAt, isoOf, toText } from './columns.ts';
import type { ChatDbHandle, SchemaInfo } from './database.ts';
import { textRowOf } from './link-text.ts';
import { messageOf, toMessage, toReaction } from './message.ts';
import { filingOf } from './message-filter.ts';
import { newestMessageRow } from './message-list.ts';
import { IS_LOWEST_CHAT, reactionTargets } from './queries.ts';
import { isMessage } from './row-kinds.ts';
import { isMirror, ownAddressesOf } from './self-copies.ts';
import type { Chat, Snapshot } from './snapshot.ts';

const { at } = DETAIL_COLUMNS;

/** By `item_type`. */
const KINDS: readonly MessageKind[] = [
  'message',
  'participant_change',
  'group_rename',
  'group_action',
  'location_share',
  'audio_kept',
  'shareplay',
];

/** By how `balloon_bundle_id` begins. */
const BALLOONS: readonly (readonly [string, MessageKind])[] = [
  ['com.apple.messages.URLBalloonProvider', 'link'],
  ['com.apple.messages.Polls', 'poll'],
  ['com.apple.Handwriting', 'handwriting'],
  ['com.apple.DigitalTouch', 'digital_touch'],
];

const ARRIVING: ReadonlySet<TransferState> = new Set(['accepted', 'preparing', 'transferring', 'finalizing']);
/** `transfer_state` of the first of `TRANSFER_STATES`. */
const FIRST_STATE = -1;

/** The message with its details (decision H). */
export function withDetails(snapshot: Snapshot, message: Message): Message {
  const details = detailsOf(snapshot, message);
  return details === undefined ? message : { ...message, details };
}

/** undefined when the row is gone. */
export function detailsOf(snapshot: Snapshot, message: Message): MessageDetails | undefined {
  const rowId = Number(message.id);
  const row = snapshot.database.get(snapshot.queries.details, rowId);
  if (row === undefined) return undefined;
  const error = Number(row[at.error] ?? 0);
  const replyTo = toText(row[at.replyTo]);
  const isUnsent = row[at.isUnsent] === 1;
  return {
    service: toText(row[at.service]) || null,
    kind: kindOf(row),
    reply_to_guid: replyTo || null,
    reply_to: replyTo === '' ? null : repliedMessage(snapshot, replyTo),
    edited_at: isUnsent ? null : isoAt(row, at.edited),
    // Undo Send leaves its time as that of an edit (U3).
    retracted_at: isUnsent ? (isoAt(row, at.retracted) ?? isoAt(row, at.edited)) : null,
    delivered_at: isoAt(row, at.delivered),
    read_at: isoAt(row, at.read),
    error: Number.isSafeInteger(error) && error !== 0 ? error : null,
    attachments: attachmentsOf(snapshot, rowId),
    reactions: reactionsOn(snapshot, message.guid),
    ...partOf(snapshot, message, row),
    ...(isMirror(snapshot, message, ownAddressesOf(row)) && { mirror: true }),
    ...filingOf(row),
  };
}

/** null when it is not there, or could only be found by reading every message. */
function repliedMessage(snapshot: Snapshot, wanted: string): RepliedMessage | null {
  if (!snapshot.database.schema.hasIndex('message', 'guid')) return null;
  const rowId = snapshot.rowIdOf(wanted);
  const message = rowId === undefined ? undefined : messageOf(snapshot, rowId);
  if (message === undefined) return null;
  const { id, guid, sender, body } = message;
  return { id, guid, sender, body: brief(body) };
}

/** Nothing unless the row is the balloon of a link, and its text is the row that it names (U6). */
function partOf(snapshot: Snapshot, message: Message, row: Row): Pick<MessageDetails, 'part_of'> {
  const guid = toText(row[at.textRow]);
  if (guid === '') return {};
  const text = textRowOf(snapshot, guid, message);
  return text === undefined ? {} : { part_of: { id: text.id, guid } };
}

/** Those of the Message, in the same order (decision B5). */
export function attachmentsOf(snapshot: Snapshot, rowId: number): readonly AttachmentDetails[] {
  const { at } = ATTACHMENT_COLUMNS;
  return snapshot.listedAttachments(rowId).map(({ n, path, row }, place) => {
    const bytes = row[at.bytes];
    const transfer = TRANSFER_STATES[Number(row[at.state] ?? Number.NaN) - FIRST_STATE] ?? null;
    return {
      ...(n !== place && { n }),
      name: toText(row[at.transferName]) || basename(path),
      mime_type: toText(row[at.mediaType]) || null,
      bytes: typeof bytes === 'number' && Number.isSafeInteger(bytes) && bytes >= 0 ? bytes : null,
      transfer,
      state: stateOf(path, transfer),
      path,
    };
  });
}

/** The attachment with this number; undefined for one that is not listed. */
export function attachmentAt(snapshot: Snapshot, rowId: number, wanted: number): AttachmentDetails | undefined {
  return attachmentsOf(snapshot, rowId).find(({ n }, place) => (n ?? place) === wanted);
}

/** Where its file is. Only asked about: opening one that is in iCloud alone would wait for its download. */
function stateOf(path: string, transfer: TransferState | null): AttachmentState {
  try {
    if (statSync(path, { throwIfNoEntry: false })?.isFile() === true) return 'available';
  } catch {
    return 'missing';
  }
  if (transfer === 'waiting' || transfer === 'archiving') return 'in_cloud';
  return transfer !== null && ARRIVING.has(transfer) ? 'downloading' : 'missing';
}

/** What people think of it now: of each the last tapback, unless it was taken back; stickers add up. */
function reactionsOn(snapshot: Snapshot, guid: string): readonly Reaction[] {
  const { database, queries } = snapshot;
  const { reactions } = queries;
  if (reactions === undefined || guid === '') return [];
  const standing = new Map<string, Reaction>();
  for (const row of database.all(reactions, ...reactionTargets(guid))) {
    const reaction = toReaction(row, snapshot);
    const { associated_message_type: type, is_from_me: isMine, sender } = reaction;
    const isTapback = type >= 2000 && type < 4000;
    const place = isTapback ? `by ${isMine ? 'me' : sender}` : reaction.id;
    const earlier = standing.get(place);
    standing.delete(place);
    if (type < 3000 || type >= 4000) standing.set(place, reaction);
    // The removal of a reaction that was already replaced does not remove its replacement.
    else if (earlier !== undefined && earlier.associated_message_type !== type - 1000) standing.set(place, earlier);
  }
  return [...standing.values()];
}

function kindOf(row: Row): MessageKind {
  const type = Number(row[at.itemType] ?? 0);
  if (type !== 0) return KINDS[type] ?? 'other';
  const balloon = toText(row[at.balloon]);
  if (balloon === '') return 'message';
  return BALLOONS.find(([start]) => balloon.startsWith(start))?.[1] ?? 'app';
}

function isoAt(row: Row, place: number): string | null {
  const value = row[place] ?? null;
  return typeof value !== 'number' || value === 0 ? null : isoOf(instantAt(row, place));
}

/** What the details of one conversation cost, in rows. */
const DETAILS_COST = 20;

/** What counting one unread message costs, in rows. */
const UNREAD_COST = 3;

interface UnreadQueries {
  /** How many there are, up to a limit. Parameter: limit. */
  readonly count: string;
  /** Chat and number, of chats with unread messages. */
  readonly byChat: string;
}

const known = new WeakMap<SchemaInfo, UnreadQueries | undefined>();

/** undefined where the database cannot say what is unread, or only by reading every message. */
export function unreadQueriesOf(database: Pick<ChatDbHandle, 'schema' | 'get'>): UnreadQueries | undefined {
  const { schema } = database;
  if (!known.has(schema)) known.set(schema, findUnreadQueries(database));
  return known.get(schema);
}

/**
 * Statistics of a whole table let SQLite read all of it rather than the few unread rows that an index names, so the
 * index is named here: the first of those that fit.
 */
function findUnreadQueries(database: Pick<ChatDbHandle, 'schema' | 'get'>): UnreadQueries | undefined {
  const { schema } = database;
  const indexes = [
    ...schema.indexes('message', 'is_read', 'is_from_me', 'item_type'),
    ...schema.indexes('message', 'is_read', 'is_from_me'),
  ];
  for (const index of indexes) {
    const queries = unreadQueries(schema, index);
    try {
      // A partial index for other rows cannot be used, and SQLite says so.
      database.get(`EXPLAIN ${queries.count}`, 1);
      return queries;
    } catch {}
  }
  return undefined;
}

/** Incoming, not read, no reaction and no system row (decision K3). */
function unreadQueries(schema: SchemaInfo, index: string): UnreadQueries {
  const has = (name: string): boolean => schema.hasColumn('message', name);
  const from = `message m INDEXED BY "${index.replaceAll('"', '""')}"`;
  const conditions = [
    'm.is_read = 0 AND m.is_from_me = 0',
    ...(has('item_type') ? ['m.item_type = 0'] : []),
    ...(has('is_finished') ? ['m.is_finished = 1'] : []),
    ...(has('is_system_message') ? ['m.is_system_message = 0'] : []),
  ].join(' AND ');
  const isUnread = `${conditions} AND ${isMessage(schema)}${has('date_read') ? ' AND NOT ifnull(m.date_read, 0)' : ''}`;
  return {
    count: `SELECT count(*) FROM (SELECT 1 FROM ${from} WHERE ${conditions} LIMIT ${INT_PARAM})`,
    byChat: `SELECT j.chat_id, count(*) FROM ${from} CROSS JOIN chat_message_join j ON j.message_id = m.ROWID
      WHERE ${isUnread} AND ${IS_LOWEST_CHAT} GROUP BY j.chat_id`,
  };
}

/** Whether the details of so many conversations can be had by reading at most `maxRows`. */
export function areDetailsWithin(snapshot: Snapshot, chats: number, maxRows: number): boolean {
  const { database } = snapshot;
  const left = Math.floor((maxRows - chats * DETAILS_COST) / UNREAD_COST);
  if (left < 0) return false;
  const queries = unreadQueriesOf(database);
  if (queries === undefined || unreadCounts.has(snapshot)) return true;
  return Number(database.get(queries.count, left + 1)?.[0] ?? 0) <= left;
}

/** The conversation with its details (decision K3); `newest` is its newest message, if that is known. */
export function withConversationDetails(
  snapshot: Snapshot,
  chat: Chat,
  conversation: Conversation,
  newest: Message | undefined,
): Conversation {
  const unread = unreadIn(snapshot, chat.rowId);
  const last = newest ?? newestMessage(snapshot, chat.rowId);
  const details: ConversationDetails = {
    ...(unread !== undefined && { unread_count: unread }),
    is_group: chat.isGroup,
    service: chat.service,
    last_message: last
      ? {
          id: last.id,
          sender: last.sender,
          is_from_me: last.is_from_me,
          body: brief(last.body),
          timestamp: last.timestamp,
        }
      : null,
  };
  return { ...conversation, details };
}

function newestMessage(snapshot: Snapshot, chatId: number): Message | undefined {
  const row = newestMessageRow(snapshot, chatId);
  return row && toMessage(row, snapshot);
}

/** By chat, for one state of the database. */
const unreadCounts = new WeakMap<Snapshot, ReadonlyMap<number, number>>();

/** undefined where the database cannot say. */
function unreadIn(snapshot: Snapshot, chatId: number): number | undefined {
  const { database } = snapshot;
  const queries = unreadQueriesOf(database);
  if (queries === undefined) return undefined;
  let counts = unreadCounts.get(snapshot);
  if (counts === undefined) {
    counts = new Map(database.all(queries.byChat).map(([chat, count]) => [Number(chat), Number(count)]));
    unreadCounts.set(snapshot, counts);
  }
  return counts.get(chatId) ?? 0;
}
