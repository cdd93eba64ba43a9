import type { Message } from '../../domain/message.ts';
import { messageOf } from './message.ts';
import type { Snapshot } from './snapshot.ts';

/** Maximum distance of the two rows' dates: one message has one date, apart from the time its preview takes. */
const PAIR_MS = 60_000;

/**
 * Returns the row with the text of a link's balloon. Undefined if the named row is no such text: a lone link may name
 * any earlier message, as ordinary rows do.
 */
export function textRowOf(snapshot: Snapshot, guid: string, balloon: Message): Message | undefined {
  if (!snapshot.database.schema.hasIndex('message', 'guid')) return undefined;
  const rowId = snapshot.rowIdOf(guid);
  const text = rowId === undefined ? undefined : messageOf(snapshot, rowId);
  if (text === undefined || text.is_from_me !== balloon.is_from_me || text.sender !== balloon.sender) return undefined;
  if (text.conversation_id !== balloon.conversation_id) return undefined;
  return Math.abs(Date.parse(text.timestamp) - Date.parse(balloon.timestamp)) <= PAIR_MS ? text : undefined;
}
