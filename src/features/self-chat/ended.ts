import type { Sqlite } from '../../core/runtime/sqlite.ts';

/**
 * Erases the proof of the self-chat and the questions in it. Both hold only for the chat.db in which
 * Postern read the code that proved the self-chat.
 */
export function forgetSelfChat(database: Sqlite): void {
  database.exec('DELETE FROM self_chat; DELETE FROM self_chat_request');
}
