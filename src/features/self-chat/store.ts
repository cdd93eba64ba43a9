import { HOUR_MS } from '../../core/model/durations.ts';
import type { Sqlite } from '../../core/runtime/sqlite.ts';
import { consumerPositions } from '../../core/state/consumer-positions.ts';
import { durably } from '../../core/state/state-database.ts';
import { forgetSelfChat } from './ended.ts';
import type { SelfChatStore } from './ports.ts';

/** Name of the tapback reader's row in the table `consumer`. */
const CONSUMER = 'tapbacks';

/** Maximum number of messages per hour that Postern writes into the self-chat (decision L6). */
const MAX_AN_HOUR = 20;
/**
 * How long Postern remembers that a message was counted towards `MAX_AN_HOUR`. After a restart, Postern may
 * repeat the message of a request that still waits for a decision. No request waits this long, so none is counted
 * twice.
 */
const COUNTED_MS = 48 * HOUR_MS;

/** Number of messages that Postern remembers to have asked with. It asks with at most 20 an hour. */
const MAX_QUESTIONS = 2000;

/**
 * Stores the proof of which chat is the self-chat. For each of Postern's messages in that chat, stores the question
 * that the message asks (decision L6).
 */
export function selfChatStore(database: Sqlite): SelfChatStore {
  const selectProof = database.prepare('SELECT address, chat, proved_ms FROM self_chat');
  const insertProof = database.prepare('INSERT INTO self_chat (one, address, chat, proved_ms) VALUES (1, ?, ?, ?)');
  const selectQuestion = database.prepare('SELECT approval, text_hmac FROM self_chat_request WHERE guid = ?');
  const insertQuestion = database.prepare('INSERT OR IGNORE INTO self_chat_request VALUES (?, ?, ?)');
  const forgetOldest = database.prepare(
    'DELETE FROM self_chat_request WHERE rowid <= (SELECT max(rowid) FROM self_chat_request) - ?',
  );
  const isCounted = database.prepare('SELECT 1 FROM self_chat_message WHERE key = ?');
  const countSince = database.prepare('SELECT count(*), min(at_ms) FROM self_chat_message WHERE at_ms > ?');
  const count = database.prepare('INSERT INTO self_chat_message (key, at_ms) VALUES (?, ?)');
  // Also forgets timestamps in the future, which were stored before the clock was set back.
  const forgetCounted = database.prepare('DELETE FROM self_chat_message WHERE at_ms < ? OR at_ms > ?');
  const positions = consumerPositions(database);
  return {
    proof() {
      const row = selectProof.get();
      if (row === undefined) return undefined;
      const [address, chat, provedMs] = row;
      return { address: String(address), chat: String(chat), provedMs: Number(provedMs) };
    },
    prove({ address, chat, provedMs }, offset) {
      durably(database, () => {
        forgetSelfChat(database);
        insertProof.run(address, chat, provedMs);
        positions.set(CONSUMER, offset);
      });
    },
    question(guid) {
      const row = selectQuestion.get(guid);
      return row && { questionId: String(row[0]), textHmac: String(row[1]) };
    },
    addQuestion(guid, { questionId, textHmac }) {
      insertQuestion.run(guid, questionId, textHmac);
      forgetOldest.run(MAX_QUESTIONS);
    },
    reserve: (key, nowMs) =>
      database.transaction(() => {
        forgetCounted.run(nowMs - COUNTED_MS, nowMs + HOUR_MS);
        if (isCounted.get(key) !== undefined) return undefined;
        const [written, firstMs] = countSince.get(nowMs - HOUR_MS) ?? [];
        if (Number(written) >= MAX_AN_HOUR) return Number(firstMs) + HOUR_MS;
        count.run(key, nowMs);
        return undefined;
      }),
    forget: () => durably(database, () => forgetSelfChat(database)),
    offset: () => positions.of(CONSUMER) ?? { rowId: 0, change: 0 },
    progress: (offset) => positions.set(CONSUMER, offset),
  };
}
