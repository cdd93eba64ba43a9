import type { Poll, PollOption } from '../../domain/cards.ts';
import type { Message } from '../../domain/message.ts';
import type { Reaction } from '../../domain/reaction.ts';
import { compareInstants, instantAt, POLL_ROW_COLUMNS } from './columns.ts';
import { readKeyedArchive } from './content/keyed-archive.ts';
import { type PollPayload, pollPayloadOf } from './content/poll-payload.ts';
import { contentQueriesOf } from './content-queries.ts';
import { messageOf, toMessage } from './message.ts';
import { reactionTargets } from './queries.ts';
import { VOTE_TYPE } from './row-kinds.ts';
import type { Snapshot } from './snapshot.ts';

/** Returns the current poll: all added options, and each person's current choice (decision V2). */
export function pollOf(snapshot: Snapshot, row: Message | Reaction, stored: PollPayload): Poll {
  const { votes, added } = rowsOf(snapshot, row);
  const options = added?.options ?? stored.options;
  const caption = stored.question === undefined ? captionOf(snapshot, row) : undefined;
  const question = stored.question ?? caption?.body;
  return {
    ...(question !== undefined && { question }),
    ...(caption && { question_guid: caption.guid }),
    ...(stored.creator !== undefined && { creator: stored.creator }),
    options: options.map((option: PollOption) => ({
      ...option,
      votes: [...votes].filter(([, choices]) => choices.includes(option.id)).map(([sender]) => sender),
    })),
  };
}

interface PollRows {
  /** Each sender's last vote. Key: the sender. Value: ids of the chosen options. */
  readonly votes: ReadonlyMap<string, readonly string[]>;
  /** The content of the newest row that added an option, which lists all options of the poll. */
  readonly added: PollPayload | undefined;
}

function rowsOf(snapshot: Snapshot, { guid, conversation_id: conversation }: Message | Reaction): PollRows {
  const { database } = snapshot;
  const { pollRows } = contentQueriesOf(database.schema);
  const { at } = POLL_ROW_COLUMNS;
  const rows = pollRows === undefined || guid === '' ? [] : database.all(pollRows, ...reactionTargets(guid));
  const votes = new Map<string, readonly string[]>();
  let added: PollPayload | undefined;
  const inOrder = rows
    .toReversed()
    .toSorted((one, other) => compareInstants(instantAt(one, at.date), instantAt(other, at.date)));
  for (const row of inOrder) {
    const { sender, conversation_id: place } = toMessage(row, snapshot);
    if (!isSameConversation(place, conversation)) continue;
    const blob = snapshot.storedBlob(row[at.payload]);
    const payload = blob instanceof Uint8Array ? readKeyedArchive(blob) : undefined;
    const poll = payload instanceof Map ? pollPayloadOf(payload) : undefined;
    if (poll === undefined) continue;
    if (row[at.associatedType] !== VOTE_TYPE) added = poll;
    else if (poll.choices !== undefined) {
      // Deletes the sender before adding it again, so that the map orders senders by their last votes.
      votes.delete(sender);
      votes.set(sender, poll.choices);
    }
  }
  return { votes, added };
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
