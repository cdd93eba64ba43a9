import type { LogEntry, PendingRow } from '../domain/event.ts';
import type { Message, MessageStatus } from '../domain/message.ts';
import { rowOffset } from '../domain/offset.ts';
import type { Reaction, ReactionType } from '../domain/reaction.ts';
import type { Row, SqlValue } from '../runtime/sqlite.ts';
import { decodeAttributedBody } from './attributed-body.ts';
import { cleanBody, countPlaceholders } from './body.ts';
import { type Instant, instantOf, isoOf, toUnixMs } from './instants.ts';

/** What a row refers to and does not say itself. */
export interface Surroundings {
  /** Address of a handle. */
  address(handleId: number): string | undefined;
  chat(chatId: number): ChatFacts | undefined;
  /** Absolute paths of a message's attachments, in stored order (B5). */
  attachments(rowId: number): readonly string[];
  rowIdOf(guid: string): number | undefined;
  /** Told of a body that cannot be decoded (B2). */
  onUndecodable(rowId: number): void;
}

export interface ChatFacts {
  readonly guid: string;
  /** Which of the own addresses was used here last; "" when unknown. */
  readonly ownAddress: string;
  /** The counterpart of a one-to-one chat; "" when there is not exactly one. */
  counterpart(): string;
}

// The columns of every message row, in the order of queries.ts.
const ROW_ID = 0;
const GUID = 1;
const DATE = 2;
const CHAT = 5;
/** Of an own row the own address, of another the sender's handle. */
const PARTY = 6;
const STATUS = 7;
const BODY = 8;
const ATTACHMENTS = 9;
const ASSOCIATED_TYPE = 10;
const ASSOCIATED_GUID = 11;
const ASSOCIATED_EMOJI = 12;
const ANNOUNCES_ATTACHMENTS = 13;
const HAS_UNNAMED_ATTACHMENT = 14;

/** Decision B7 by the number `queries.ts` gives; from 2 on the row is an own one. */
const STATUSES: readonly MessageStatus[] = [
  'delivered',
  'read',
  'pending', // Send Later (B13)
  'failed',
  'read',
  'delivered',
  'sent',
  'pending',
];
const FIRST_OWN_STATUS = 2;
const NOT_SENT_YET = 7;

const NONE: readonly string[] = [];

export function toMessage(row: Row, around: Surroundings): Message {
  const status = row[STATUS] as number;
  const rowId = row[ROW_ID] as number;
  const chat = row[CHAT] === null ? undefined : around.chat(row[CHAT] as number);
  const isFromMe = status >= FIRST_OWN_STATUS;
  return {
    id: String(rowId),
    guid: toText(row[GUID]),
    conversation_id: chat === undefined ? '' : chat.guid,
    sender: isFromMe ? ownAddress(row, chat) : senderOf(row, chat, around),
    body: cleanBody(toBody(row, around)),
    attachments: row[ATTACHMENTS] === 0 ? NONE : around.attachments(rowId),
    timestamp: isoOf(instantAt(row, DATE)),
    is_from_me: isFromMe,
    status: STATUSES[status] ?? 'pending',
  };
}

export function toLogEntry(row: Row, around: Surroundings): LogEntry {
  const rowId = row[ROW_ID] as number;
  const guid = toText(row[GUID]);
  const type = Number(row[ASSOCIATED_TYPE] ?? 0);
  if (type !== 0) {
    const isRemoval = type >= 3000 && type < 4000;
    const data = toReaction(row, around);
    return {
      offset: rowOffset(rowId),
      rowId,
      guid,
      event: { type: isRemoval ? 'reaction.removed' : 'reaction.added', data },
    };
  }
  const data = toMessage(row, around);
  return {
    offset: rowOffset(rowId),
    rowId,
    guid,
    event: { type: data.is_from_me ? 'message.sent' : 'message.received', data },
  };
}

/** Decision C2: what the row lacks. A row with an error is settled and lacks nothing. */
export function toArrival(row: Row, around: Surroundings): PendingRow {
  const status = row[STATUS] as number;
  const isSettled = STATUSES[status] === 'failed';
  // No spread: what is added behind one costs as much as reading the row.
  const { offset, rowId, guid, event } = toLogEntry(row, around);
  return {
    offset,
    rowId,
    guid,
    event,
    datedMs: toUnixMs(instantAt(row, DATE)),
    isIncomplete: !isSettled && (row[CHAT] === null || lacksAttachments(row, around)),
    isUnsent: status === NOT_SENT_YET,
  };
}

function lacksAttachments(row: Row, around: Surroundings): boolean {
  if (row[ANNOUNCES_ATTACHMENTS] === null) return false;
  if (row[HAS_UNNAMED_ATTACHMENT] !== 0) return true;
  const joined = row[ATTACHMENTS] as number;
  const announced = Math.max(row[ANNOUNCES_ATTACHMENTS] === 0 ? 0 : 1, countPlaceholders(toBody(row, around)));
  return joined < announced;
}

/** The date columns of a row: value, quotient and remainder, from `at` on. */
export function instantAt(row: Row, at: number): Instant {
  return instantOf(row[at] ?? null, row[at + 1] ?? null, row[at + 2] ?? null);
}

/** Text of any value that a hostile database may hold in a text column. */
export function toText(value: SqlValue | undefined): string {
  if (typeof value === 'string') return value;
  return typeof value === 'number' || typeof value === 'bigint' ? String(value) : '';
}

function toBody(row: Row, around: Surroundings): string {
  const stored = row[BODY];
  if (typeof stored === 'string') return stored;
  if (stored === null || stored === undefined) return '';
  // A number stands for a blob too large to be worth reading.
  const text = typeof stored === 'object' ? decodeAttributedBody(stored) : undefined;
  if (text === undefined) around.onUndecodable(row[ROW_ID] as number);
  return text ?? '';
}

/** Decision B3 for own rows. `account` looks like `E:me@example.org` or `P:+15550100`. */
function ownAddress(row: Row, chat: ChatFacts | undefined): string {
  const stored = toText(row[PARTY]);
  const address = stored.startsWith('E:') || stored.startsWith('P:') ? stored.slice(2) : stored;
  return address || chat?.ownAddress || 'me';
}

function senderOf(row: Row, chat: ChatFacts | undefined, around: Surroundings): string {
  const handle = row[PARTY];
  const address = typeof handle === 'number' && handle !== 0 ? around.address(handle) : undefined;
  return address ?? chat?.counterpart() ?? '';
}

const REACTION_TYPES: readonly ReactionType[] = [
  'love',
  'thumbs_up',
  'thumbs_down',
  'haha',
  'exclamation',
  'question',
  'emoji',
  'sticker',
];
const STICKER_PLACED = 1000;

/** Decision C8. */
export function toReaction(row: Row, around: Surroundings): Reaction {
  const type = Number(row[ASSOCIATED_TYPE]);
  const isTapback = type >= 2000 && type < 4000;
  const reactionType = type === STICKER_PLACED ? 'sticker' : isTapback ? REACTION_TYPES[type % 1000] : undefined;
  const messageGuid = toText(row[ASSOCIATED_GUID]).replace(/^(?:p:-?\d+\/|bp:)/, '');
  const status = row[STATUS] as number;
  const chat = row[CHAT] === null ? undefined : around.chat(row[CHAT] as number);
  return {
    id: String(row[ROW_ID]),
    guid: toText(row[GUID]),
    conversation_id: chat?.guid ?? '',
    sender: status >= FIRST_OWN_STATUS ? ownAddress(row, chat) : senderOf(row, chat, around),
    is_from_me: status >= FIRST_OWN_STATUS,
    reaction_type: reactionType ?? 'other',
    emoji: reactionType === 'emoji' ? toText(row[ASSOCIATED_EMOJI]) || null : null,
    message_id: messageGuid === '' ? '' : String(around.rowIdOf(messageGuid) ?? ''),
    message_guid: messageGuid,
    timestamp: isoOf(instantAt(row, DATE)),
    associated_message_type: Number.isFinite(type) ? type : 0,
  };
}
