import { basename } from 'node:path';
import {
  type AttachmentDetails,
  brief,
  type MessageDetails,
  type MessageKind,
  type RepliedMessage,
  TRANSFER_STATES,
} from '../domain/details.ts';
import type { Message } from '../domain/message.ts';
import type { Reaction } from '../domain/reaction.ts';
import type { Row } from '../runtime/sqlite.ts';
import { ATTACHMENT_COLUMNS, DETAIL_COLUMNS, instantAt, toText } from './columns.ts';
import { isoOf } from './instants.ts';
import { messageOf, toMessage, toReaction } from './message.ts';
import { reactionTargets } from './queries.ts';
import type { Snapshot } from './snapshot.ts';

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
/** How far the two rows of a message to oneself are apart. */
const MIRROR_ROWS = 50;
const MIRROR_MS = 30_000;
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
  return {
    service: toText(row[at.service]) || null,
    kind: kindOf(row),
    reply_to_guid: replyTo || null,
    reply_to: replyTo === '' ? null : repliedMessage(snapshot, replyTo),
    edited_at: isoAt(row, at.edited),
    retracted_at: isoAt(row, at.retracted),
    delivered_at: isoAt(row, at.delivered),
    read_at: isoAt(row, at.read),
    error: Number.isSafeInteger(error) && error !== 0 ? error : null,
    attachments: attachmentsOf(snapshot, rowId),
    reactions: reactionsOn(snapshot, message.guid),
    ...(isMirror(snapshot, message, row) && { mirror: true }),
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

/**
 * Whether an incoming row repeats an own message to oneself (decision I5): Messages writes some of them twice, seconds
 * apart, and may leave the own row without its text.
 */
function isMirror(snapshot: Snapshot, message: Message, row: Row): boolean {
  if (message.is_from_me || message.sender === '') return false;
  const chat = snapshot.chatsWithId(message.conversation_id).find(({ guid }) => guid === message.conversation_id);
  const sender = message.sender.toLowerCase();
  const account = toText(row[at.account]).replace(/^[EP]:/, '');
  const own = [toText(row[at.caller]), account, chat?.ownAddress ?? ''].map((address) => address.toLowerCase());
  if (chat === undefined || chat.counterpart() !== message.sender || !own.includes(sender)) return false;
  const { database, queries } = snapshot;
  const rowId = Number(message.id);
  return database.all(queries.ownRowsOfChat, rowId - MIRROR_ROWS, rowId + MIRROR_ROWS, chat.rowId).some((other) => {
    const { body, timestamp } = toMessage(other, snapshot);
    const apartMs = Math.abs(Date.parse(timestamp) - Date.parse(message.timestamp));
    return apartMs <= MIRROR_MS && (body === message.body || body === '');
  });
}

/** Those of the Message, in the same order (decision B5). */
export function attachmentsOf(snapshot: Snapshot, rowId: number): readonly AttachmentDetails[] {
  const { at } = ATTACHMENT_COLUMNS;
  return snapshot.database.all(snapshot.queries.attachments, rowId).flatMap((row) => {
    const path = snapshot.absolutePath(toText(row[at.filename]));
    if (path === undefined) return [];
    const bytes = row[at.bytes];
    return [
      {
        name: toText(row[at.transferName]) || basename(path),
        mime_type: toText(row[at.mediaType]) || null,
        bytes: typeof bytes === 'number' && Number.isSafeInteger(bytes) && bytes >= 0 ? bytes : null,
        transfer: TRANSFER_STATES[Number(row[at.state] ?? Number.NaN) - FIRST_STATE] ?? null,
        path,
      },
    ];
  });
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
