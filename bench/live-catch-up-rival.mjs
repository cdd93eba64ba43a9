// Reads and stringifies rows in a loop, the fastest way with plain SQL. Argument: the database.
import Sqlite from 'better-sqlite3';
import { decodeAttributedBody } from '../dist/src/core/chatdb/attributed-body.js';
import { answer } from './live-process.mjs';

const PAGE = 256;
const sqlite = new Sqlite(process.argv[2], { readonly: true });
const page = sqlite
  .prepare(
    `SELECT m.ROWID, m.guid, c.guid, h.id, m.text, m.attributedBody, m.date / 1000000000, m.is_from_me
       FROM message m LEFT JOIN handle h ON h.ROWID = m.handle_id
       LEFT JOIN chat_message_join j ON j.message_id = m.ROWID LEFT JOIN chat c ON c.ROWID = j.chat_id
      WHERE m.ROWID > ? + 0 ORDER BY m.ROWID LIMIT ${PAGE}`,
  )
  .raw();

answer({
  rowsPerSecond({ after, rows }) {
    const started = performance.now();
    let at = after;
    for (let read = 0; read < rows; ) {
      const found = page.all(at);
      for (const row of found) JSON.stringify({ type: 'message.received', data: message(row) });
      read += found.length;
      at = found.at(-1)[0];
    }
    return (rows * 1000) / (performance.now() - started);
  },
});

function message([id, guid, chat, sender, text, blob, seconds, isOwn]) {
  return {
    id: String(id),
    guid,
    conversation_id: chat,
    sender,
    body: text || (blob && decodeAttributedBody(blob)) || '',
    attachments: [],
    timestamp: `${new Date((seconds + 978_307_200) * 1000).toISOString().slice(0, 19)}Z`,
    is_from_me: isOwn === 1,
    status: 'delivered',
  };
}
