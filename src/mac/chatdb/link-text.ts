import type { Message } from '../../domain/message.ts';
import { messageOf } from './message.ts';
import type { Snapshot } from './snapshot.ts';

/** How far the dates of the two rows may be apart: one message has one date, give or take what its preview takes. */
const PAIR_MS = 60_000;

/**
 * Returns the row that has the text of a link's balloon. undefined when the named row is no such text: a link alone may
 * name any earlier message, as ordinary rows do.
 */
export function textRowOf(snapshot: Snapshot, guid: string, balloon: Message): Message | undefined {
  if (!snapshot.database.schema.hasIndex('message', 'guid')) return undefined;
  const rowId = snapshot.rowIdOf(guid);
  const text = rowId === undefined ? undefined : messageOf(snapshot, rowId);
  if (text === undefined || text.is_from_me !== balloon.is_from_me || text.sender !== balloon.sender) return undefined;
  if (text.conversation_id !== balloon.conversation_id) return undefined;
  return Math.abs(Date.parse(text.timestamp) - Date.parse(balloon.timestamp)) <= PAIR_MS ? text : undefined;
}
