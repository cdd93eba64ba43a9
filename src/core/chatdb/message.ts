import type { Message, MessageStatus } from '../model/message.ts';
import { REACTION_TYPES, type Reaction } from '../model/reaction.ts';
import type { Row, SqlValue } from '../runtime/sqlite.ts';
import { decodeAttributedBody } from './attributed-body.ts';
import { EDITED_BODY } from './body-sql.ts';
import type { Chat } from './chat.ts';
import { ENTRY_COLUMNS, instantAt, isoOf, MESSAGE_COLUMNS, STATUS_CODE, toText } from './columns.ts';
import { RowBudget } from './content/row-budget.ts';
import { newestVersions, readSummaryInfo } from './content/summary-info.ts';
import { accountAddress } from './own-addresses.ts';
import { targetOf } from './reaction-target.ts';
import { isFilled, type Snapshot } from './snapshot.ts';
import { type StoredAttachment, storedAttachments } from './stored-attachments.ts';

const { at } = MESSAGE_COLUMNS;

/** Key: one of `STATUS_CODE`. Value: the status of the message in the API. */
const STATUSES: Readonly<Record<number, MessageStatus>> = {
  [STATUS_CODE.received]: 'delivered',
  [STATUS_CODE.readHere]: 'read',
  [STATUS_CODE.scheduled]: 'pending', // Send Later (decision B13)
  [STATUS_CODE.failed]: 'failed',
  [STATUS_CODE.read]: 'read',
  [STATUS_CODE.delivered]: 'delivered',
  [STATUS_CODE.sent]: 'sent',
  [STATUS_CODE.unsent]: 'pending',
};

const NO_ATTACHMENTS: readonly StoredAttachment[] = [];

/** Returns the message of a row; undefined for an unknown row id and for a reaction (decision B8). */
export function messageOf(snapshot: Snapshot, rowId: number): Message | undefined {
  const row = snapshot.database.get(snapshot.queries.message, rowId);
  return row && toMessage(row, snapshot);
}

/** Returns the messages with these row ids, in the same order. Leaves out row ids without a message. */
export function messagesOf(snapshot: Snapshot, rowIds: readonly number[]): readonly Message[] {
  const rows = snapshot.database.all(snapshot.queries.messagesById, JSON.stringify(rowIds));
  return rows.map((row) => toMessage(row, snapshot));
}

/** Returns the message of a row. The row's columns must be `MESSAGE_COLUMNS`, or begin with them. */
export function toMessage(row: Row, snapshot: Snapshot): Message {
  return toMessageWithFiles(row, snapshot).message;
}

/** A message, and the attachments that it lists, also those without a path. */
interface MessageWithFiles {
  readonly message: Message;
  readonly files: readonly StoredAttachment[];
}

/** Returns what `toMessage` returns, with the attachments that were read for it. */
export function toMessageWithFiles(row: Row, snapshot: Snapshot): MessageWithFiles {
  const status = row[at.status] as number;
  const rowId = row[at.rowId] as number;
  const chat = row[at.chat] === null ? undefined : snapshot.chat(row[at.chat] as number);
  const isFromMe = status >= STATUS_CODE.scheduled;
  const body = bodyOf(row, snapshot);
  const hasFiles = row[at.attachments] !== 0 || body.includes('\uFFFC');
  const files = hasFiles ? storedAttachments(snapshot, rowId) : NO_ATTACHMENTS;
  const message = {
    id: String(rowId),
    guid: toText(row[at.guid]),
    conversation_id: chat === undefined ? '' : chat.guid,
    sender: isFromMe ? ownAddress(row, chat) : senderOf(row, chat, snapshot),
    body: cleanBody(body),
    attachments: files.flatMap(({ path }) => path ?? []),
    timestamp: isoOf(instantAt(row, at.date)),
    is_from_me: isFromMe,
    status: STATUSES[status] ?? 'pending',
  };
  return { message, files };
}

/** Returns the stored text of a row, including the placeholder characters for attachments and balloons. */
export function bodyOf(row: Row, snapshot: Snapshot): string {
  const stored = row[at.body];
  if (typeof stored === 'string') return stored;
  if (stored === null || stored === undefined) return '';
  const rowId = row[at.rowId] as number;
  // `Number` of a blob would decode it as text.
  const isEdited = typeof stored !== 'object' && Number(stored) === EDITED_BODY;
  const text = isEdited ? editedBody(snapshot, rowId) : decodedBody(snapshot, rowId, stored);
  if (text === undefined) {
    snapshot.database.parts.log.debug('a message body could not be decoded', { rowId });
  }
  return text ?? '';
}

function decodedBody(snapshot: Snapshot, rowId: number, stored: SqlValue): string | undefined {
  const blob = typeof stored === 'object' ? stored : snapshot.largeBody(rowId, Number(stored));
  return blob ? decodeAttributedBody(blob) : undefined;
}

/** Returns the owner's address from which an outgoing row was sent; `me` if no address is known (decision B3). */
function ownAddress(row: Row, chat: Chat | undefined): string {
  return accountAddress(toText(row[at.party])) || chat?.ownAddress || 'me';
}

function senderOf(row: Row, chat: Chat | undefined, snapshot: Snapshot): string {
  const handle = row[at.party];
  const address = typeof handle === 'number' && handle !== 0 ? snapshot.address(handle) : undefined;
  return address ?? chat?.counterpart() ?? '';
}

const STICKER_PLACED = 1000;

/** Returns the reaction of a row of `ENTRY_COLUMNS` (decision C8). */
export function toReaction(row: Row, snapshot: Snapshot): Reaction {
  const type = Number(row[ENTRY_COLUMNS.at.associatedType]);
  const isTapback = type >= 2000 && type < 4000;
  const reactionType = type === STICKER_PLACED ? 'sticker' : isTapback ? REACTION_TYPES[type % 1000] : undefined;
  const target = targetOf(toText(row[ENTRY_COLUMNS.at.associatedGuid]));
  const messageGuid = target.message_guid;
  const status = row[at.status] as number;
  const chat = row[at.chat] === null ? undefined : snapshot.chat(row[at.chat] as number);
  return {
    id: String(row[at.rowId]),
    guid: toText(row[at.guid]),
    conversation_id: chat?.guid ?? '',
    sender: status >= STATUS_CODE.scheduled ? ownAddress(row, chat) : senderOf(row, chat, snapshot),
    is_from_me: status >= STATUS_CODE.scheduled,
    reaction_type: reactionType ?? 'other',
    emoji: reactionType === 'emoji' ? toText(row[ENTRY_COLUMNS.at.associatedEmoji]) || null : null,
    message_id: messageGuid === '' ? '' : String(snapshot.rowIdOf(messageGuid) ?? ''),
    ...target,
    timestamp: isoOf(instantAt(row, at.date)),
    associated_message_type: Number.isFinite(type) ? type : 0,
  };
}

const OBJECT = 0xfffc; // an attachment
const REPLACEMENT = 0xfffd; // an app's own balloon

/**
 * Removes the placeholders from a text. If a placeholder is at the start or the end of the text, also removes the line
 * break next to it (decision B2).
 */
export function cleanBody(text: string): string {
  if (!text.includes('\uFFFC') && !text.includes('\uFFFD')) return text;
  let start = 0;
  while (start < text.length && isPlaceholder(text.charCodeAt(start))) {
    start += 1;
    if (!isPlaceholder(text.charCodeAt(start))) start += lineBreakAfter(text, start);
  }
  let end = text.length;
  while (end > start && isPlaceholder(text.charCodeAt(end - 1))) {
    end -= 1;
    if (!isPlaceholder(text.charCodeAt(end - 1))) end -= lineBreakBefore(text, end, start);
  }
  return text.slice(start, end).replace(/[\uFFFC\uFFFD]/g, '');
}

/** Returns the number of attachment placeholders in a text. */
export function countPlaceholders(text: string): number {
  let count = 0;
  for (let at = text.indexOf('\uFFFC'); at >= 0; at = text.indexOf('\uFFFC', at + 1)) count += 1;
  return count;
}

function isPlaceholder(code: number): boolean {
  return code === OBJECT || code === REPLACEMENT;
}

function isLineBreak(code: number): boolean {
  return code === 0x0a || code === 0x0d || code === 0x2028 || code === 0x2029;
}

function lineBreakAfter(text: string, at: number): number {
  if (!isLineBreak(text.charCodeAt(at))) return 0;
  return text.charCodeAt(at) === 0x0d && text.charCodeAt(at + 1) === 0x0a ? 2 : 1;
}

function lineBreakBefore(text: string, at: number, start: number): number {
  if (at <= start || !isLineBreak(text.charCodeAt(at - 1))) return 0;
  return at - 1 > start && text.charCodeAt(at - 1) === 0x0a && text.charCodeAt(at - 2) === 0x0d ? 2 : 1;
}

/**
 * Returns the newest text of an edited row: the one in attributedBody, else the last version of each part in
 * message_summary_info. The column `text` can still hold the original (imsgcrawl, pull request 8), so it counts only if
 * the row has no other text. Returns undefined if the newest text is unreadable.
 */
function editedBody(snapshot: Snapshot, rowId: number): string | undefined {
  const [text, body, summary] = snapshot.database.get(snapshot.queries.editedBody, rowId) ?? [];
  const blob = snapshot.largeBlob(body);
  const current = blob && decodeAttributedBody(blob);
  if (current !== undefined) return current;
  const bytes = snapshot.largeBlob(summary);
  const texts = newestVersions(bytes && readSummaryInfo(bytes, new RowBudget())).map((version) => version.text);
  if (texts.length > 0) return texts.includes(null) ? undefined : texts.join('');
  return isFilled(body) ? undefined : toText(text);
}
