import type { MessageContent } from '../model/content.ts';
import { brief, EVENT_KINDS, type MessageDetails, type MessageKind, type RepliedMessage } from '../model/details.ts';
import type { Message } from '../model/message.ts';
import { bodySentence, type DescribedRow, type Notes, sentenceOf } from '../model/sentence.ts';
import type { Row } from '../runtime/sqlite.ts';
import { attachmentContentsOf } from './attachment-details.ts';
import { DETAIL_COLUMNS, instantAt, isoOf, toText } from './columns.ts';
import type { DecodedRow } from './content/message-content.ts';
import { RowBudget } from './content/row-budget.ts';
import { currentReactions } from './current-reactions.ts';
import { messageOf } from './message.ts';
import { filingOf } from './message-filter.ts';
import type { ReactedTo } from './reacted-to.ts';
import { rowContentOf } from './row-content.ts';
import { isMirror, ownAddressesOf } from './self-copies.ts';
import type { Snapshot } from './snapshot.ts';

const { at } = DETAIL_COLUMNS;

/** Kinds of rows. The index is the row's `item_type`. */
const KINDS: readonly MessageKind[] = ['message', ...EVENT_KINDS];

/** Returns the message with its details (decision H). */
export function withDetails(snapshot: Snapshot, message: Message, reactedTo?: ReactedTo): Message {
  const details = detailsOf(snapshot, message, reactedTo);
  return details === undefined ? message : { ...message, details };
}

/** Returns a message's details; undefined if its row is gone. Without `reactedTo`, always looks up its reactions. */
export function detailsOf(snapshot: Snapshot, message: Message, reactedTo?: ReactedTo): MessageDetails | undefined {
  const rowId = Number(message.id);
  const row = snapshot.database.get(snapshot.queries.details, rowId);
  if (row === undefined) return undefined;
  const error = Number(row[at.error] ?? 0);
  const replyTo = toText(row[at.replyTo]);
  const isUnsent = row[at.isUnsent] === 1;
  // The column `hasContent` looks only at the end of the stored body, and an unreadable body can end like a plain one.
  // So the content is also decoded if the message's body is empty.
  const hasContent = row[at.hasContent] === 1 || message.body === '';
  const budget = new RowBudget();
  const found = hasContent ? rowContentOf(snapshot, message, isUnsent, budget) : undefined;
  // A body that names a file is content.
  const hasFiles = hasContent || row[at.hasAttachments] !== 0 || message.attachments.length > 0;
  const { attachments, ...content } = hasFiles
    ? withAttachments(snapshot, message, found?.content, budget)
    : { attachments: [] };
  snapshot.spendSteps(budget.spent);
  const details: Omit<MessageDetails, 'sentence'> = {
    service: toText(row[at.service]) || null,
    kind: kindOf(row, found?.kind),
    reply_to_guid: replyTo || null,
    reply_to: replyTo === '' ? null : repliedMessage(snapshot, replyTo),
    edited_at: isUnsent ? null : isoAt(row, at.edited),
    // Undo Send stores the time of the unsending as the date of an edit (decision U3).
    retracted_at: isUnsent ? (isoAt(row, at.retracted) ?? isoAt(row, at.edited)) : null,
    delivered_at: isoAt(row, at.delivered),
    read_at: isoAt(row, at.read),
    error: Number.isSafeInteger(error) && error !== 0 ? error : null,
    attachments,
    reactions:
      reactedTo?.mayHave(message.guid) === false
        ? []
        : currentReactions(snapshot, message, Number(row[at.partCount] ?? 0)),
    ...partOf(snapshot, message, row),
    ...(isMirror(snapshot, message, ownAddressesOf(row)) && { mirror: true }),
    ...filingOf(row),
    ...content,
  };
  const isTextUnread = found?.isTextUnread === true;
  const sentence = sentenceIn(message, { ...details, isTextUnread }, row, snapshot.database.decoders);
  return sentence === undefined ? details : { ...details, sentence };
}

/** Returns the beginning of the message with this guid; null if it cannot be found by an index. */
function repliedMessage(snapshot: Snapshot, wanted: string): RepliedMessage | null {
  if (!snapshot.database.schema.hasIndex('message', 'guid')) return null;
  const rowId = snapshot.rowIdOf(wanted);
  const message = rowId === undefined ? undefined : messageOf(snapshot, rowId);
  if (message === undefined) return null;
  const { id, guid, sender, body } = message;
  return { id, guid, sender, body: brief(body) };
}

/**
 * Returns `part_of` for the balloon of a link that was sent with a text. `part_of` identifies the row of that text.
 * Returns {} for any other row (decision U6).
 */
function partOf(snapshot: Snapshot, message: Message, row: Row): Pick<MessageDetails, 'part_of'> {
  const guid = toText(row[at.textRow]);
  if (guid === '') return {};
  const text = textRowOf(snapshot, guid, message);
  return text === undefined ? {} : { part_of: { id: text.id, guid } };
}

/** Returns the sentence that describes a message; undefined if it would only repeat the message's text. */
function sentenceIn(message: Message, details: DescribedRow, row: Row, notes: readonly Notes[]): string | undefined {
  if (details.kind === 'other') {
    return `This version of Postern does not know this kind of entry (item type ${Number(row[at.itemType])}).`;
  }
  if (
    row[at.hasContent] === 0 &&
    message.body !== '' &&
    details.attachments.length === 0 &&
    details.edited_at === null
  ) {
    return undefined;
  }
  const sentence = sentenceOf(message, details, {}, notes);
  return sentence === bodySentence(message.body) ? undefined : sentence;
}

/** Returns the kind of a row: by its `item_type`, or by its balloon for an ordinary row. */
function kindOf(row: Row, decoded: DecodedRow['kind'] = 'message'): MessageKind {
  const type = Number(row[at.itemType] ?? 0);
  if (type !== 0) return KINDS[type] ?? 'other';
  return decoded === 'poll_vote' ? 'poll' : decoded;
}

/** Combines the content of a message's row with the content of the message's attachments. */
function withAttachments(
  snapshot: Snapshot,
  { id }: Message,
  content: MessageContent = {},
  budget: RowBudget,
): MessageContent & Pick<MessageDetails, 'attachments'> {
  const { leftOut } = snapshot;
  const { attachments, transcripts } = attachmentContentsOf(snapshot, Number(id), content.parts, budget);
  return {
    ...content,
    attachments,
    ...(content.transcript === undefined && transcripts.length > 0 && { transcript: transcripts.join('\n') }),
    ...budget.undecoded(),
    ...(snapshot.leftOut > leftOut && { content_left_out: true }),
  };
}

function isoAt(row: Row, index: number): string | null {
  const value = row[index] ?? null;
  return typeof value !== 'number' || value === 0 ? null : isoOf(instantAt(row, index));
}

/**
 * Maximum time between the row of a text and the row of its link's balloon, in milliseconds. Messages takes some time
 * to fetch the preview.
 */
const PAIR_MS = 60_000;

/**
 * Returns the message with this guid if it is the text that was sent with the balloon's link, else undefined. The check
 * is needed because the balloon of a link without text may name any earlier message, as ordinary rows do.
 */
function textRowOf(snapshot: Snapshot, guid: string, balloon: Message): Message | undefined {
  if (!snapshot.database.schema.hasIndex('message', 'guid')) return undefined;
  const rowId = snapshot.rowIdOf(guid);
  const text = rowId === undefined ? undefined : messageOf(snapshot, rowId);
  if (text === undefined || text.is_from_me !== balloon.is_from_me || text.sender !== balloon.sender) return undefined;
  if (text.conversation_id !== balloon.conversation_id) return undefined;
  return Math.abs(Date.parse(text.timestamp) - Date.parse(balloon.timestamp)) <= PAIR_MS ? text : undefined;
}
