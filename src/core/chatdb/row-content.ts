import type { MessageContent } from '../model/content.ts';
import type { Message } from '../model/message.ts';
import type { Reaction } from '../model/reaction.ts';
import type { Row } from '../runtime/sqlite.ts';
import { addedValues } from './added-columns.ts';
import { toText } from './columns.ts';
import { effectOf, groupEventOf, locationShareOf, replyPartOf } from './content/group-event.ts';
import { type AddedDecoding, type DecodedRow, decodeRow } from './content/message-content.ts';
import { RowBudget } from './content/row-budget.ts';
import { contentQueriesOf, ROW_CONTENT_COLUMNS } from './content-queries.ts';
import type { AddedToRow } from './decoder.ts';
import { cleanBody } from './message.ts';
import { targetOf } from './reaction-target.ts';
import { VOTE_TYPE } from './row-kinds.ts';
import { isFilled, type Snapshot } from './snapshot.ts';

const { at } = ROW_CONTENT_COLUMNS;
const LOCATION_SHARE = 4;

interface RowContent extends Pick<DecodedRow, 'kind' | 'content'> {
  /** True if the row has a text that the message's body lacks, because it could not be read. */
  readonly isTextUnread: boolean;
}

/**
 * Reads and decodes the content of a row besides its text; undefined if the row is gone. `budget` is the row's, if its
 * attachments are decoded too.
 */
export function rowContentOf(
  snapshot: Snapshot,
  message: Message | Reaction,
  isUnsent = false,
  budget = new RowBudget(),
): RowContent | undefined {
  return snapshot.decoding(Number(message.id), () => decodedContent(snapshot, message, isUnsent, budget));
}

function decodedContent(
  snapshot: Snapshot,
  message: Message | Reaction,
  isUnsent: boolean,
  budget: RowBudget,
): RowContent | undefined {
  const { database } = snapshot;
  const { leftOut } = snapshot;
  const row = database.get(contentQueriesOf(database.schema).row, Number(message.id));
  if (row === undefined) return undefined;
  const columns = {
    guid: toText(row[at.guid]),
    text: 'body' in message ? message.body : '',
    attributedBody: snapshot.storedBlob(row[at.attributedBody]),
    summaryInfo: snapshot.storedBlob(row[at.summaryInfo]),
    balloon: toText(row[at.balloon]),
    associatedGuid: targetOf(toText(row[at.associatedGuid])).message_guid,
    isVote: row[at.associatedType] === VOTE_TYPE,
    isUnsent,
  };
  const decoded = decodeRow(columns, budget, addedDecoding(snapshot, message, row));
  const stored = isFilled(row[at.attributedBody]) ? decoded.text : toText(row[at.text]);
  const isLost = stored === undefined || cleanBody(stored) !== '';
  return {
    kind: decoded.kind,
    isTextUnread: 'body' in message && message.body === '' && isLost,
    content: {
      ...decoded.content,
      ...budget.undecoded(),
      ...columnContent(snapshot, message, row),
      ...(snapshot.leftOut > leftOut && { content_left_out: true }),
    },
  };
}

/** Returns what features decode of this row. */
function addedDecoding(snapshot: Snapshot, row: Message | Reaction, stored: Row): AddedDecoding {
  const { database } = snapshot;
  return {
    runs: database.runDecoders,
    read(text, budget) {
      const values = addedValues(database.schema.decodedColumns.row, stored, (blob) => snapshot.storedBlob(blob));
      const place = { snapshot, row };
      let all: AddedToRow = { content: {} };
      for (const { row: decoder } of database.decoders) {
        const added = decoder?.read(text, values(decoder.columns), { budget, place });
        if (added !== undefined) all = { kind: all.kind ?? added.kind, content: { ...all.content, ...added.content } };
      }
      return all;
    },
  };
}

/** Returns the content that chat.db stores in columns of numbers and texts, without a blob to decode. */
function columnContent(snapshot: Snapshot, message: Pick<Message, 'id' | 'timestamp'>, row: Row): MessageContent {
  const { timestamp } = message;
  const number = (index: number): number => (typeof row[index] === 'number' ? row[index] : 0);
  const itemType = number(at.itemType);
  const other = number(at.otherHandle);
  const event = groupEventOf({
    itemType,
    action: number(at.groupAction),
    title: toText(row[at.groupTitle]),
    by: number(at.handle),
    other,
    who: other === 0 ? undefined : snapshot.address(other),
    hasNewAddress: () => hasNewAddress(snapshot, message),
  });
  const effect = effectOf(toText(row[at.effect]));
  const subject = toText(row[at.subject]);
  const state = row[at.scheduleState];
  return {
    ...(event && { group_event: event }),
    ...(itemType === LOCATION_SHARE && {
      location_share: locationShareOf(number(at.shareStatus), row[at.isFromMe] === 1, other, number(at.shareDirection)),
    }),
    ...(effect && { effect }),
    ...(subject !== '' && { subject }),
    ...(toText(row[at.threadGuid]) !== '' && replyPartOf(toText(row[at.threadPart]))),
    ...(row[at.isScheduled] === 1 && {
      scheduled: { for: timestamp, state: typeof state === 'number' ? state : null },
    }),
  };
}

function hasNewAddress({ database }: Snapshot, { id }: Pick<Message, 'id'>): boolean {
  const { newAddress } = contentQueriesOf(database.schema);
  return newAddress !== undefined && database.get(newAddress, Number(id)) !== undefined;
}
