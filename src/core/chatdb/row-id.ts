import type { Snapshot } from './snapshot.ts';

const MAX_GUID_LENGTH = 200;

/**
 * Returns the row that a message id stands for: its row id, or `g` and its guid, which every machine of an Apple account
 * knows. Returns undefined for any other text, and for a guid that is not in chat.db.
 */
export function rowOf(snapshot: Pick<Snapshot, 'rowIdOf'>, id: string): number | undefined {
  if (/^[1-9]\d{0,14}$/.test(id)) return Number(id);
  return id.startsWith('g') && id.length > 1 && id.length <= MAX_GUID_LENGTH ? snapshot.rowIdOf(id.slice(1)) : undefined;
}
