// Inserts, edits, marks as read and deletes rows of a chat.db at a steady rate, as a process of its own.
// Arguments: path, rows per second; as many rows again are changed. Only the newest 1,000 rows are, as on a Mac: an edit is
// possible for 15 minutes, and receipts belong to messages of these days.
import { randomUUID } from 'node:crypto';
import Database from 'better-sqlite3';

const [path, rate] = [process.argv[2], Number(process.argv[3])];
const NEWEST = 1000;
const database = new Database(path, { fileMustExist: true });
database.pragma('foreign_keys = ON');
const now = () => BigInt(Date.now() - 978_307_200_000) * 1_000_000n;
const insert = database.prepare(
  `INSERT INTO message (guid, text, date, handle_id, service, is_from_me, is_sent, is_finished)
   VALUES (?, ?, ?, 1, 'iMessage', ?, ?, 1)`,
);
const join = database.prepare('INSERT INTO chat_message_join (chat_id, message_id, message_date) VALUES (1, ?, ?)');
const pick = database.prepare(
  `SELECT ROWID, is_from_me FROM message WHERE ROWID > (SELECT max(ROWID) FROM message) - ${NEWEST}
    ORDER BY ROWID LIMIT 1 OFFSET abs(random()) % ${NEWEST}`,
);
const edit = database.prepare('UPDATE message SET text = ?, date_edited = ? WHERE ROWID = ?');
const read = database.prepare('UPDATE message SET is_read = 1, date_read = ? WHERE ROWID = ?');
const deliver = database.prepare('UPDATE message SET is_delivered = 1, date_delivered = ? WHERE ROWID = ?');
const remove = database.prepare('DELETE FROM message WHERE ROWID = ?');
let total = 0;

const addRow = database.transaction(() => {
  total += 1;
  const date = now();
  const isOwn = total % 5 === 0 ? 1 : 0;
  const { lastInsertRowid } = insert.run(randomUUID(), `row written at ${date}`, date, isOwn, isOwn);
  join.run(lastInsertRowid, date);
});
const changeRow = database.transaction(() => {
  const found = pick.raw().get();
  if (found === undefined) return;
  const [rowId, isOwn] = found;
  if (total % 8 === 0) remove.run(rowId);
  else if (total % 8 < 4) edit.run(`edited at ${now()}`, now(), rowId);
  else if (isOwn === 1 && total % 8 === 4) deliver.run(now(), rowId);
  else read.run(now(), rowId);
});

const started = performance.now();
let written = 0;
setInterval(() => {
  const due = Math.floor(((performance.now() - started) / 1000) * rate) - written;
  for (let left = due; left > 0; left -= 1) {
    addRow();
    changeRow();
  }
  written += Math.max(0, due);
}, 5);
process.stdin.on('end', () => process.exit(0)).resume(); // ends with the process that started it
