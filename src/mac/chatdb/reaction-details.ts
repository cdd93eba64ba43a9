import type { Reaction, ReactionDetails } from '../../domain/reaction.ts';
import { rowContentOf } from './row-content.ts';
import { VOTE_TYPE } from './row-kinds.ts';
import type { Snapshot } from './snapshot.ts';

/** Returns what a row is that is shown as a reaction by the contract alone (U5); undefined for a tapback or a sticker. */
export function reactionDetailsOf(snapshot: Snapshot, reaction: Reaction): ReactionDetails | undefined {
  const type = reaction.associated_message_type;
  if (type !== VOTE_TYPE && type !== 2 && type !== 3) return undefined;
  const { kind, content } = rowContentOf(snapshot, reaction) ?? {};
  if (content === undefined) return undefined;
  if (type === VOTE_TYPE) return { ...content, kind: 'poll_vote' };
  const { guid, message_guid: named } = reaction;
  return { ...content, kind: kind === 'poll' && named !== '' && named !== guid ? 'poll_update' : 'app' };
}
