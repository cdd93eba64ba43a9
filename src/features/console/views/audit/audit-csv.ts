// The audit log as a table for spreadsheets.

import type { AuditEntry } from '../../../../client/access-types.ts';
import { keyName } from '../../service/service.ts';

/**
 * Returns a CSV cell. Puts an apostrophe before a value that begins like a formula, so that a spreadsheet shows it as
 * text.
 */
function cell(value: string | number): string {
  const plain = String(value);
  const safe = /^[=+\-@\t\r]/.test(plain) ? `'${plain}` : plain;
  return /[",\n\r]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

/** `names` are those of the keys. */
export function csvOf(entries: readonly AuditEntry[], names: ReadonlyMap<string, string>): string {
  const lines = entries.map(({ at, key_id: key, action, outcome, target, count }) => [
    at,
    keyName(key, names),
    action,
    outcome,
    target ?? '',
    count,
  ]);
  const head = ['at', 'key', 'action', 'outcome', 'with', 'count'];
  return [head, ...lines].map((line) => line.map(cell).join(',')).join('\n');
}
