import { basename } from 'node:path';
import { type AttachmentDetails, type MessageDetails, type MessageKind, TRANSFER_STATES } from '../domain/details.ts';
import type { Message } from '../domain/message.ts';
import type { Reaction } from '../domain/reaction.ts';
import type { Row } from '../runtime/sqlite.ts';
import type { Edition } from './edition.ts';
import { instantOf, isoOf } from './instants.ts';
import { reactionTargets } from './queries-details.ts';
import { toReaction, toText } from './rows.ts';

// The columns of queries-details.ts.
const SERVICE = 0;
const ITEM_TYPE = 1;
const BALLOON = 2;
const REPLY_TO = 3;
const ERROR = 4;
const EDITED = 5;
const RETRACTED = 8;
const DELIVERED = 11;
const READ = 14;

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
/** `transfer_state` of the first of `TRANSFER_STATES`. */
const FIRST_STATE = -1;

/** The message with its details (section H). */
export function withDetails(edition: Edition, message: Message): Message {
  const details = detailsOf(edition, Number(message.id), message.guid);
  return details === undefined ? message : { ...message, details };
}

/** undefined when the row is gone. */
export function detailsOf(edition: Edition, rowId: number, guid: string): MessageDetails | undefined {
  const { database } = edition;
  const row = database.get(database.queries.details.message, rowId);
  if (row === undefined) return undefined;
  const error = Number(row[ERROR] ?? 0);
  return {
    service: toText(row[SERVICE]) || null,
    kind: kindOf(row),
    reply_to_guid: toText(row[REPLY_TO]) || null,
    edited_at: isoAt(row, EDITED),
    retracted_at: isoAt(row, RETRACTED),
    delivered_at: isoAt(row, DELIVERED),
    read_at: isoAt(row, READ),
    error: Number.isSafeInteger(error) && error !== 0 ? error : null,
    attachments: attachmentsOf(edition, rowId),
    reactions: reactionsOn(edition, guid),
  };
}

/** Those of the Message, in the same order (B5). */
export function attachmentsOf({ database }: Edition, rowId: number): readonly AttachmentDetails[] {
  return database.all(database.queries.attachments, rowId).flatMap(([filename, name, type, bytes, state]) => {
    const path = database.paths.absolute(toText(filename));
    if (path === undefined) return [];
    return [
      {
        name: toText(name) || basename(path),
        mime_type: toText(type) || null,
        bytes: typeof bytes === 'number' && Number.isSafeInteger(bytes) && bytes >= 0 ? bytes : null,
        transfer: TRANSFER_STATES[Number(state ?? Number.NaN) - FIRST_STATE] ?? null,
        path,
      },
    ];
  });
}

/** What people think of it now: of each the last tapback, unless it was taken back; stickers add up. */
function reactionsOn(edition: Edition, guid: string): readonly Reaction[] {
  const { database } = edition;
  const { reactions } = database.queries.details;
  if (reactions === undefined || guid === '') return [];
  const standing = new Map<string, Reaction>();
  for (const row of database.all(reactions, ...reactionTargets(guid))) {
    const reaction = toReaction(row, edition);
    const { associated_message_type: type, is_from_me: isMine, sender } = reaction;
    const isTapback = type >= 2000 && type < 4000;
    const place = isTapback ? `by ${isMine ? 'me' : sender}` : reaction.id;
    const earlier = standing.get(place);
    standing.delete(place);
    if (type < 3000 || type >= 4000) standing.set(place, reaction);
    // The removal of one that was replaced meanwhile says nothing about the one that stands.
    else if (earlier !== undefined && earlier.associated_message_type !== type - 1000) standing.set(place, earlier);
  }
  return [...standing.values()];
}

function kindOf(row: Row): MessageKind {
  const type = Number(row[ITEM_TYPE] ?? 0);
  if (type !== 0) return KINDS[type] ?? 'other';
  const balloon = toText(row[BALLOON]);
  if (balloon === '') return 'message';
  return BALLOONS.find(([start]) => balloon.startsWith(start))?.[1] ?? 'app';
}

function isoAt(row: Row, at: number): string | null {
  const value = row[at] ?? null;
  return typeof value !== 'number' || value === 0
    ? null
    : isoOf(instantOf(value, row[at + 1] ?? null, row[at + 2] ?? null));
}
