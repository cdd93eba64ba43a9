import type { Sqlite } from '../../core/runtime/sqlite.ts';

/**
 * Erases the proof of the self-chat and the requests in it. Both hold only for the chat.db in which
 * Postern read the code that proved the self-chat.
 */
export function forgetSelfChat(database: Sqlite): void {
  database.exec('DELETE FROM self_chat; DELETE FROM self_chat_request');
}

/**
 * Ends held sends and erases their texts. The owner may approve and send them after the backup was made, and a restored
 * service must not send them again.
 */
export function endHeldSends(backup: Sqlite): void {
  // The state database of an earlier version lacks the table of approvals.
  if (backup.prepare("SELECT 1 FROM sqlite_master WHERE name = 'approval'").get() === undefined) return;
  backup.exec(`PRAGMA secure_delete = ON;
    UPDATE approval SET state = 'void', text = NULL, problem = 'restored' WHERE state IN ('held', 'approved')`);
}
