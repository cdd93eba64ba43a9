// The rival of every read: prepared statements for exactly these rows, decoding, and JSON.stringify.
import { dirname } from 'node:path';
import Sqlite from 'better-sqlite3';
import { decodeAttributedBody } from '../dist/src/core/chatdb/attributed-body.js';

const COLUMNS = `m.ROWID, m.guid, h.id, m.text, m.attributedBody, m.date / 1000000000, m.is_from_me, m.error, m.is_read,
  m.date_read, m.is_delivered, m.date_delivered, m.is_sent, m.cache_has_attachments, m.destination_caller_id`;
const FROM = 'message m LEFT JOIN handle h ON h.ROWID = m.handle_id';
const CHAT = '(SELECT c.guid FROM chat_message_join j JOIN chat c ON c.ROWID = j.chat_id WHERE j.message_id = m.ROWID)';
const PLAIN = 'm.associated_message_type = 0';
const STORED = '~/Library/Messages/';

/**
 * Opens the database. Its statements use `? + 0`, because a bare `?` in a LIMIT or a range makes SQLite plan the
 * statement again at every run.
 */
export function openPlainSql(path) {
  const sqlite = new Sqlite(path, { readonly: true });
  sqlite.pragma('cache_size = -4096');
  const prepare = (sql) => sqlite.prepare(sql).raw();
  const all = `SELECT ${COLUMNS}, ${CHAT} FROM ${FROM} WHERE ${PLAIN}`;
  const newest = prepare(`${all} ORDER BY m.date DESC, m.ROWID DESC LIMIT ? + 0`);
  const since = prepare(`${all} AND m.date > ? + 0 ORDER BY m.date DESC, m.ROWID DESC LIMIT ? + 0`);
  const one = prepare(`${all} AND m.ROWID = ?`);
  const ofChat = prepare(`SELECT ${COLUMNS}, c.guid FROM chat c JOIN chat_message_join j ON j.chat_id = c.ROWID
    JOIN message m ON m.ROWID = j.message_id LEFT JOIN handle h ON h.ROWID = m.handle_id WHERE c.guid = ? AND ${PLAIN}
    ORDER BY j.message_date DESC, j.message_id DESC LIMIT ? + 0`);
  const last = '(SELECT max(j.message_date) FROM chat_message_join j WHERE j.chat_id = c.ROWID)';
  const chats = prepare(
    `SELECT c.ROWID, c.guid, c.display_name, ${last} / 1000000000 AS last FROM chat c ORDER BY last DESC LIMIT ? + 0`,
  );
  const chat = prepare(`SELECT c.ROWID, c.guid, c.display_name, ${last} / 1000000000 FROM chat c WHERE c.guid = ?`);
  const people = prepare(
    'SELECT h.id FROM chat_handle_join j JOIN handle h ON h.ROWID = j.handle_id WHERE j.chat_id = ? + 0 ORDER BY j.ROWID',
  ).pluck();
  const files = prepare(`SELECT a.filename FROM message_attachment_join j JOIN attachment a ON a.ROWID = j.attachment_id
    WHERE j.message_id = ? + 0 AND a.hide_attachment = 0 ORDER BY j.ROWID`).pluck();
  const folder = `${dirname(path)}/`;
  const attachments = (id) => files.all(id).map((file) => file.replace(STORED, folder));
  const message = (row) => messageOf(row, attachments);
  const conversation = ([rowId, id, name, at]) => ({
    id,
    display_name: name || null,
    participants: people.all(rowId),
    last_message_at: iso(at),
  });
  return {
    sqlite,
    newest: (limit) => newest.all(limit).map(message),
    since: (date, limit) => since.all(date, limit).map(message),
    message: (id) => message(one.get(id)),
    ofChat: (guid, limit) => ofChat.all(guid, limit).map(message),
    conversations: (limit) => chats.all(limit).map(conversation),
    conversation: (guid) => conversation(chat.get(guid)),
  };
}

function iso(appleSeconds) {
  return `${new Date((appleSeconds + 978_307_200) * 1000).toISOString().slice(0, 19)}Z`;
}

function messageOf(row, attachments) {
  const [id, guid, sender, text, blob, date, own, error, isRead, readAt, isDelivered, deliveredAt, isSent, hasFiles] =
    row;
  const body = text || (blob && decodeAttributedBody(blob)) || '';
  return {
    id: String(id),
    guid,
    conversation_id: row[15],
    sender: own ? row[14] : sender,
    body: body.includes('\uFFFC') ? body.replaceAll('\uFFFC', '') : body,
    attachments: hasFiles ? attachments(id) : [],
    timestamp: iso(date),
    is_from_me: own === 1,
    status: own
      ? error
        ? 'failed'
        : isRead || readAt
          ? 'read'
          : isDelivered || deliveredAt
            ? 'delivered'
            : isSent
              ? 'sent'
              : 'pending'
      : isRead
        ? 'read'
        : 'delivered',
  };
}
