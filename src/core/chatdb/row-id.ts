import type { Snapshot } from './snapshot.ts';

/**
 * Returns the row that a message id stands for: a row id, or `g` and the guid, which other Macs of the account know
 * too. Undefined for anything else, and for a guid that chat.db lacks.
 */
export function rowIdOf(id: string, snapshot: Pick<Snapshot, 'rowIdOf'>): number | undefined {
  if (/^[1-9]\d{0,14}$/.test(id)) return Number(id);
  return id.startsWith('g') ? snapshot.rowIdOf(id.slice(1)) : undefined;
}
