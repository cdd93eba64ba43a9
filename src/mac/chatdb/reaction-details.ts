import type { Reaction, ReactionDetails } from '../../domain/reaction.ts';
import { perSchema } from './database.ts';
import { isPollUpdate, VOTE_TYPE } from './row-kinds.ts';
import type { Snapshot } from './snapshot.ts';

/** Parameter: row id. */
const isPollUpdateSql = perSchema((schema) => `SELECT ${isPollUpdate(schema)} FROM message m WHERE m.ROWID = ?`);

/** Returns what a row is that is shown as a reaction by the contract alone (U5); undefined for a tapback or a sticker. */
export function reactionDetailsOf(snapshot: Snapshot, reaction: Reaction): ReactionDetails | undefined {
  const { id, associated_message_type: type } = reaction;
  if (type === VOTE_TYPE) return { kind: 'poll_vote' };
  if (type !== 2 && type !== 3) return undefined;
  const { database } = snapshot;
  const row = database.get(isPollUpdateSql(database.schema), Number(id));
  return row && { kind: row[0] === 1 ? 'poll_update' : 'app' };
}
