import type { Poll, PollOption } from '../../client/content-types.ts';
import {
  anyChat,
  column,
  compareInstants,
  decodable,
  instantAt,
  isPollUpdate,
  MAX_SECONDS,
  MESSAGE_COLUMNS,
  messageOf,
  messageParts,
  perSchema,
  type RowBudget,
  reactionTargets,
  readKeyedArchive,
  type SchemaInfo,
  type Snapshot,
  TEXT_PARAM,
  toMessage,
  VOTE_TYPE,
} from '../../core/chatdb/public.ts';
import type { Message } from '../../core/model/message.ts';
import type { Reaction } from '../../core/model/reaction.ts';
import { type PollPayload, pollPayloadOf } from './poll-payload.ts';

/** Maximum number of votes and added options read per poll, newest first. No real poll has as many. */
const MAX_POLL_ROWS = 2000;
/**
 * Number of row ids after a poll that are searched for its caption. Rows of other conversations may come between the
 * two.
 */
const CAPTION_ROWS = 50;
const CAPTION_S = 5;

interface PollQueries {
  /**
   * `MESSAGE_COLUMNS` and type of a poll's votes and added options, newest first. Parameters: the `reactionTargets` of
   * the poll's guid. Undefined if no index supports the query.
   */
  readonly rows: string | undefined;
  /** The payload of one of these rows, read alone: of 2,000 votes of one person, only the last counts. */
  readonly payload: string;
  /**
   * Row id of the message with a poll's question: the next row by the poll's sender, if that row replies to the poll.
   * Parameter: row id of the poll.
   */
  readonly caption: string | undefined;
}

export const pollQueriesOf = perSchema((schema): PollQueries => {
  const has = (name: string): boolean => schema.hasColumn('message', name);
  const names = has('associated_message_type') && schema.hasIndex('message', 'associated_message_guid');
  const message = MESSAGE_COLUMNS.select(messageParts(schema, anyChat(schema)));
  const targets = reactionTargets('').map(() => TEXT_PARAM);
  return {
    rows: names
      ? `SELECT ${message}, m.associated_message_type
         FROM ${schema.messagesByIndex} m
         WHERE m.associated_message_guid IN (${targets.join(', ')})
           AND (m.associated_message_type = ${VOTE_TYPE} OR ${isPollUpdate(schema)})
         ORDER BY m.ROWID DESC LIMIT ${MAX_POLL_ROWS}`
      : undefined,
    payload: `SELECT ${decodable(column(schema, 'payload_data'))} FROM message m WHERE m.ROWID = ?`,
    caption: has('reply_to_guid') ? captionSql(schema) : undefined,
  };
});

/**
 * SQL for the row with a poll's question: an ordinary row after the poll by the same sender (decision V2; imsg, pull
 * request 155).
 */
function captionSql(schema: SchemaInfo): string {
  const thread = column(schema, 'thread_originator_guid');
  const isCaption = `m.reply_to_guid = p.guid AND ifnull(${thread}, '') = '' AND m.date >= p.date
    AND m.date <= p.date + CASE WHEN p.date > ${MAX_SECONDS} THEN ${CAPTION_S * 1e9} ELSE ${CAPTION_S} END`;
  return `SELECT CASE WHEN ${isCaption} THEN m.ROWID END
    FROM message p CROSS JOIN message m ON m.ROWID > p.ROWID AND m.ROWID <= p.ROWID + ${CAPTION_ROWS}
    WHERE p.ROWID = ? AND ifnull(m.handle_id, 0) = ifnull(p.handle_id, 0)
      AND ifnull(m.is_from_me, 0) = ifnull(p.is_from_me, 0)
    ORDER BY m.ROWID LIMIT 1`;
}

/**
 * Returns the current poll: all added options, and each person's current choice (decision V2). Spends from the budget
 * of the poll's row.
 */
export function pollOf(snapshot: Snapshot, row: Message | Reaction, stored: PollPayload, budget: RowBudget): Poll {
  return budget.within('payload_data', () => currentPoll(snapshot, row, stored, budget));
}

function currentPoll(snapshot: Snapshot, row: Message | Reaction, stored: PollPayload, budget: RowBudget): Poll {
  const { votes, added } = rowsOf(snapshot, row, budget);
  const options = added?.options ?? stored.options;
  const voters = new Map<string, string[]>();
  for (const [sender, choices] of votes) {
    for (const choice of choices) {
      const those = voters.get(choice) ?? [];
      those.push(sender);
      voters.set(choice, those);
    }
  }
  const caption = stored.question === undefined ? captionOf(snapshot, row) : undefined;
  const question = stored.question ?? caption?.body;
  return {
    ...(question !== undefined && { question }),
    ...(caption && { question_guid: caption.guid }),
    ...(stored.creator !== undefined && { creator: stored.creator }),
    options: options.map((option: PollOption) => ({
      ...option,
      votes: (voters.get(option.id) ?? []).filter((sender) => budget.shown(sender) !== undefined),
    })),
  };
}

interface PollRows {
  /** Each voter's last sender address and the ids of the options in that vote, in the order of those votes. */
  readonly votes: readonly (readonly [sender: string, choices: readonly string[]])[];
  /** The content of the newest row that added an option, which lists all options of the poll. */
  readonly added: PollPayload | undefined;
}

/** Reads a poll's rows, newest first, so that votes that were changed later cost nothing. */
function rowsOf(
  snapshot: Snapshot,
  { guid, conversation_id: conversation }: Message | Reaction,
  budget: RowBudget,
): PollRows {
  const { database } = snapshot;
  const { rows: query, payload: payloadQuery } = pollQueriesOf(database.schema);
  const { at } = MESSAGE_COLUMNS;
  const rows = query === undefined || guid === '' ? [] : database.all(query, ...reactionTargets(guid));
  const votes = new Map<string, PollRows['votes'][number]>();
  let added: PollPayload | undefined;
  const newestFirst = rows.toSorted((one, other) =>
    compareInstants(instantAt(other, at.date), instantAt(one, at.date)),
  );
  for (const row of newestFirst) {
    const { sender, is_from_me: isMine, conversation_id: place } = toMessage(row, snapshot);
    if (!isSameConversation(place, conversation)) continue;
    const isVote = row.at(-1) === VOTE_TYPE;
    // The owner may vote from several addresses.
    const voter = isMine ? 'me' : sender;
    if (isVote ? votes.has(voter) : added !== undefined) continue;
    if (!budget.step()) break;
    const blob = snapshot.storedBlob(database.get(payloadQuery, Number(row[at.rowId]))?.[0]);
    const payload = blob instanceof Uint8Array ? readKeyedArchive(blob, budget) : undefined;
    const poll = payload instanceof Map ? pollPayloadOf(payload, budget) : undefined;
    if (!isVote) added = poll;
    // An unreadable vote replaces the earlier ones, too.
    else votes.set(voter, [sender, poll?.choices ?? []]);
  }
  return { votes: [...votes.values()].toReversed(), added };
}

/**
 * Returns the separate message that contains a poll's question. Called only if the poll's own content has no question.
 * Returns undefined if no such message is found.
 */
function captionOf(snapshot: Snapshot, { id, conversation_id: conversation }: Message | Reaction): Message | undefined {
  const { database } = snapshot;
  const { caption } = pollQueriesOf(database.schema);
  const rowId = caption === undefined ? undefined : database.get(caption, Number(id))?.[0];
  const message = typeof rowId === 'number' ? messageOf(snapshot, rowId) : undefined;
  if (message === undefined || message.body === '') return undefined;
  return isSameConversation(message.conversation_id, conversation) ? message : undefined;
}

/**
 * Reports whether two chat guids differ at most in the service. A row of another conversation that names the poll is no
 * part of it: readers of the poll may not be allowed to see that row.
 */
function isSameConversation(guid: string, other: string): boolean {
  const withoutService = (one: string): string => one.replace(/^[^;]*;/, '');
  return withoutService(guid) === withoutService(other);
}
