import type { SelfChatStore } from '../domain/ports/self-chat.ts';
import type { Sqlite } from '../runtime/sqlite.ts';
import { durably } from './database.ts';

/** Name of the reader of tapbacks among the consumers. */
const CONSUMER = 'tapbacks';

/** The proof of the self-chat, and which of its messages ask for which decision (decision L6). */
export function selfChatStore(database: Sqlite): SelfChatStore {
  const selectProof = database.prepare('SELECT address, chat, proved_ms FROM self_chat');
  const insertProof = database.prepare('INSERT INTO self_chat (one, address, chat, proved_ms) VALUES (1, ?, ?, ?)');
  const selectRequest = database.prepare('SELECT approval, text_hmac FROM self_chat_request WHERE guid = ?');
  const insertRequest = database.prepare('INSERT OR IGNORE INTO self_chat_request VALUES (?, ?, ?)');
  const selectOffset = database.prepare('SELECT row_id, change FROM consumer WHERE name = ?');
  const updateOffset = database.prepare('INSERT OR REPLACE INTO consumer (name, row_id, change) VALUES (?, ?, ?)');
  return {
    proof() {
      const row = selectProof.get();
      if (row === undefined) return undefined;
      const [address, chat, provedMs] = row;
      return { address: String(address), chat: String(chat), provedMs: Number(provedMs) };
    },
    prove({ address, chat, provedMs }, { rowId, change }) {
      durably(database, () => {
        forgetSelfChat(database);
        insertProof.run(address, chat, provedMs);
        updateOffset.run(CONSUMER, rowId, change);
      });
    },
    request(guid) {
      const row = selectRequest.get(guid);
      return row && { approvalId: String(row[0]), textHmac: String(row[1]) };
    },
    addRequest: (guid, { approvalId, textHmac }) => void insertRequest.run(guid, approvalId, textHmac),
    forget: () => durably(database, () => forgetSelfChat(database)),
    offset() {
      const [rowId = 0, change = 0] = selectOffset.get(CONSUMER) ?? [];
      return { rowId: Number(rowId), change: Number(change) };
    },
    progress: ({ rowId, change }) => void updateOffset.run(CONSUMER, rowId, change),
  };
}

/** The proof holds for the chat.db in which the code was read, and for no other. */
export function forgetSelfChat(database: Sqlite): void {
  database.exec('DELETE FROM self_chat; DELETE FROM self_chat_request');
}
