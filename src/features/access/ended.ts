import type { Sqlite } from '../../core/runtime/sqlite.ts';

/**
 * Ends held sends and erases their texts. The owner may approve and send them after the backup was made, and a restored
 * service must not send them again.
 */
export function endHeldSends(backup: Sqlite): void {
  // A state database in which this feature never ran lacks its table.
  if (backup.prepare("SELECT 1 FROM sqlite_master WHERE name = 'approval'").get() === undefined) return;
  backup.exec(`PRAGMA secure_delete = ON;
    UPDATE approval SET state = 'void', text = NULL, problem = 'restored' WHERE state IN ('held', 'approved')`);
}

/** Says how many keys a restored backup has. Somebody else may have made the backup, and know them. */
export function restoredKeys(state: Sqlite): readonly string[] {
  const keys = Number(state.prepare('SELECT count(*) FROM api_key WHERE revoked_at IS NULL').get()?.[0]);
  return keys === 0 ? [] : [`The backup has ${keys} limited ${keys === 1 ? 'key' : 'keys'}: \`postern keys list\``];
}
