import { T } from './bound.ts';
import type { Shape } from './shape.ts';

/** Every SQL text about `details` (section H), for one shape of database. */
export interface DetailQueries {
  /** Service, item type, balloon, reply, error, then each date as value, quotient and remainder. Parameter: row id. */
  readonly message: string;
  /** What a reaction's guid may look like: `REACTION_TARGETS` of them. Columns as `entries`. */
  readonly reactions: string | undefined;
}

/** Parts of a message that a reaction can be on: -1 for all of it, then the text and its attachments. */
const PARTS = Array.from({ length: 22 }, (_, at) => at - 1);

/** How `associated_message_guid` may name a message. */
export function reactionTargets(guid: string): readonly string[] {
  return [guid, `bp:${guid}`, ...PARTS.map((part) => `p:${part}/${guid}`)];
}

/** `columns` are those of a row as an entry of the log. */
export function detailQueries(shape: Shape, columns: string): DetailQueries {
  const column = (name: string): string => (shape.hasColumn('message', name) ? `m.${name}` : 'NULL');
  const date = (name: string): string =>
    shape.hasColumn('message', name) ? `m.${name}, m.${name} / 1000000000, m.${name} % 1000000000` : 'NULL, NULL, NULL';
  const texts = ['service', 'item_type', 'balloon_bundle_id', 'thread_originator_guid', 'error'].map(column);
  const dates = ['date_edited', 'date_retracted', 'date_delivered', 'date_read'].map(date);
  const slots = reactionTargets('').map(() => T);
  // Without its index every message would cost a walk through the whole table (B1: then the feature is off).
  const hasReactions =
    shape.hasColumn('message', 'associated_message_type') && shape.hasIndex('message', 'associated_message_guid');
  return {
    message: `SELECT ${[...texts, ...dates].join(', ')} FROM message m WHERE m.ROWID = ?`,
    reactions: hasReactions
      ? `SELECT ${columns} FROM message m
         WHERE m.associated_message_guid IN (${slots.join(', ')}) AND m.associated_message_type <> 0 ORDER BY m.ROWID`
      : undefined,
  };
}
