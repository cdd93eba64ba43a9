import { normalAddress } from '../model/address.ts';
import type { Message } from '../model/message.ts';
import type { Reaction } from '../model/reaction.ts';
import type { Row } from '../runtime/sqlite.ts';
import { compareInstants, ENTRY_COLUMNS, instantAt } from './columns.ts';
import { toReaction } from './message.ts';
import { reactionTargets, TARGETS_AT_ONCE } from './reaction-target.ts';
import type { Snapshot } from './snapshot.ts';

/** Maximum number of parts whose reactions are read: far more than Messages can send. */
const MAX_PARTS = 500;

/**
 * Returns the current reactions to a message, oldest first: every sticker, and for each person and part the latest
 * tapback unless that person has taken it back (decision AB2). `parts` is the number of parts, as far as chat.db has
 * it.
 */
export function currentReactions(
  snapshot: Snapshot,
  { guid, attachments }: Pick<Message, 'guid' | 'attachments'>,
  parts = 0,
): readonly Reaction[] {
  const standing = new Map<string, Reaction>();
  // Texts can stand before and after each file.
  for (const row of rowsOn(snapshot, guid, Math.max(parts, 2 * attachments.length + 1))) {
    const reaction = toReaction(row, snapshot);
    const { associated_message_type: type } = reaction;
    const key = keyOf(reaction);
    if (type >= 3000 && type < 4000) {
      // The removal of a reaction that was replaced before leaves the replacement in place.
      if (isRemovedBy(reaction, standing.get(key))) standing.delete(key);
    } else {
      standing.delete(key);
      standing.set(key, reaction);
    }
  }
  return [...standing.values()];
}

function rowsOn({ database, queries }: Snapshot, guid: string, parts: number): readonly Row[] {
  const { reactions } = queries;
  if (reactions === undefined || guid === '') return [];
  const rows = [...database.all(reactions, ...reactionTargets(guid))];
  const known = TARGETS_AT_ONCE - 3;
  for (let from = known; from < Math.min(parts, MAX_PARTS); from += TARGETS_AT_ONCE) {
    rows.push(...database.all(reactions, ...reactionTargets(guid, from)));
  }
  return rows.toSorted(byDate);
}

/** Their dates decide, because iCloud adds rows newest first. */
function byDate(one: Row, other: Row): number {
  const { date, rowId } = ENTRY_COLUMNS.at;
  return compareInstants(instantAt(one, date), instantAt(other, date)) || Number(one[rowId]) - Number(other[rowId]);
}

/** A reference without a part counts as one to the first part. */
function keyOf({ id, associated_message_type: type, is_from_me: isMine, sender, part = 0 }: Reaction): string {
  return type >= 2000 && type < 4000 ? `${part} by ${isMine ? 'me' : normalAddress(sender)}` : id;
}

function isRemovedBy(removal: Reaction, standing: Reaction | undefined): boolean {
  if (standing?.associated_message_type !== removal.associated_message_type - 1000) return false;
  return removal.emoji === null || removal.emoji === standing.emoji;
}
