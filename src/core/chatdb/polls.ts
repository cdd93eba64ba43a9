import type { Poll, PollOption } from '../model/cards.ts';
import type { Message } from '../model/message.ts';
import type { Reaction } from '../model/reaction.ts';
import { compareInstants, instantAt, POLL_ROW_COLUMNS } from './columns.ts';
import { readKeyedArchive } from './content/keyed-archive.ts';
import { type PollPayload, pollPayloadOf } from './content/poll-payload.ts';
import type { RowBudget } from './content/row-budget.ts';
import { contentQueriesOf } from './content-queries.ts';
import { messageOf, toMessage } from './message.ts';
import { reactionTargets } from './reaction-target.ts';
import { VOTE_TYPE } from './row-kinds.ts';
import type { Snapshot } from './snapshot.ts';

/**
 * Returns the current poll: all added options, and each person's current choice (decision V2). Spends from the budget of
 * the poll's row.
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
  /** Each sender and the ids of the options in the sender's last vote, in the order of those votes. */
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
  const { pollRows } = contentQueriesOf(database.schema);
  const { at } = POLL_ROW_COLUMNS;
  const rows = pollRows === undefined || guid === '' ? [] : database.all(pollRows, ...reactionTargets(guid));
  const votes = new Map<string, readonly string[]>();
  let added: PollPayload | undefined;
  const newestFirst = rows.toSorted((one, other) =>
    compareInstants(instantAt(other, at.date), instantAt(one, at.date)),
  );
  for (const row of newestFirst) {
    const { sender, conversation_id: place } = toMessage(row, snapshot);
    if (!isSameConversation(place, conversation)) continue;
    const isVote = row[at.associatedType] === VOTE_TYPE;
    if (isVote ? votes.has(sender) : added !== undefined) continue;
    const blob = snapshot.storedBlob(row[at.payload]);
    const payload = blob instanceof Uint8Array ? readKeyedArchive(blob, budget) : undefined;
    const poll = payload instanceof Map ? pollPayloadOf(payload, budget) : undefined;
    if (!isVote) added = poll;
    else if (poll?.choices !== undefined) votes.set(sender, poll.choices);
  }
  return { votes: [...votes].toReversed(), added };
}

/**
 * Returns the separate message that contains a poll's question. Called only if the poll's own content has no question.
 * Returns undefined if no such message is found.
 */
function captionOf(snapshot: Snapshot, { id, conversation_id: conversation }: Message | Reaction): Message | undefined {
  const { database } = snapshot;
  const { caption } = contentQueriesOf(database.schema);
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
