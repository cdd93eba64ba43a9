import type { Reaction, ReactionDetails } from '../model/reaction.ts';
import { sentenceOf } from '../model/sentence.ts';
import { rowContentOf } from './row-content.ts';
import { VOTE_TYPE } from './row-kinds.ts';
import type { Snapshot } from './snapshot.ts';

/**
 * Returns the details of a row that the API reports as a reaction although it is a vote in a poll, a change to a poll
 * or an app's message (decision U5). Returns undefined for a tapback or a sticker, and if the row is gone.
 */
export function reactionDetailsOf(snapshot: Snapshot, reaction: Reaction): ReactionDetails | undefined {
  const type = reaction.associated_message_type;
  if (type !== VOTE_TYPE && type !== 2 && type !== 3) return undefined;
  const found = rowContentOf(snapshot, reaction);
  if (found === undefined) return undefined;
  const { content } = found;
  const { decoders: notes } = snapshot.database;
  const { guid, message_guid: named } = reaction;
  const isUpdate = found.kind === 'poll' && named !== '' && named !== guid;
  const kind = type === VOTE_TYPE ? 'poll_vote' : isUpdate ? 'poll_update' : 'app';
  const details = { ...content, kind, retracted_at: null, edited_at: null, attachments: [] } as const;
  return { ...content, kind, sentence: sentenceOf({ ...reaction, body: '' }, details, {}, notes) };
}
