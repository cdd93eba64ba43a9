// Inserts, edits, unsends, marks as read and deletes rows of a chat.db at a steady rate, in its own process. The
// simulated Messages writes the rows, drawn from a seed. Arguments: path, rows per second, --seed. Changes as many rows
// as it inserts, but only among the newest 1,000, as on a Mac: an edit is possible for 15 minutes, and receipts belong
// to recent messages.
import { dirname, join } from 'node:path';
import { parseArgs } from 'node:util';
import Database from 'better-sqlite3';
import { SimulatedRows } from './simulated-rows.mjs';

const { values, positionals } = parseArgs({ allowPositionals: true, options: { seed: { type: 'string' } } });
const [path, rate] = [positionals[0], Number(positionals[1])];
const rows = new SimulatedRows(join(dirname(path), '../..'), Number(values.seed));
const NEWEST = 1000;
const database = new Database(path, { fileMustExist: true });
database.pragma('foreign_keys = ON');
const now = () => BigInt(Date.now() - 978_307_200_000) * 1_000_000n;
const pick = database.prepare(
  `SELECT ROWID, is_from_me FROM message WHERE ROWID > (SELECT max(ROWID) FROM message) - ${NEWEST}
    ORDER BY ROWID LIMIT 1 OFFSET abs(random()) % min(${NEWEST}, (SELECT max(ROWID) FROM message))`,
);
// Nobody can edit a message that was unsent, which has no parts left.
const edit = database.prepare('UPDATE message SET text = ?, date_edited = ? WHERE ROWID = ? AND part_count <> 0');
const read = database.prepare('UPDATE message SET is_read = 1, date_read = ? WHERE ROWID = ?');
const deliver = database.prepare('UPDATE message SET is_delivered = 1, date_delivered = ? WHERE ROWID = ?');
const remove = database.prepare('DELETE FROM message WHERE ROWID = ?');
let total = 0;

function changeRow() {
  const found = pick.raw().get();
  if (found === undefined) return;
  const [rowId, isOwn] = found;
  if (total % 8 === 0) remove.run(rowId);
  else if (total % 8 === 1) rows.unsend(rowId);
  else if (total % 8 < 4) edit.run(`edited at ${now()}`, now(), rowId);
  else if (isOwn === 1 && total % 8 === 4) deliver.run(now(), rowId);
  else read.run(now(), rowId);
}

const started = performance.now();
let written = 0;
setInterval(() => {
  const due = Math.floor(((performance.now() - started) / 1000) * rate) - written;
  for (let left = due; left > 0; left -= 1) {
    total += 1;
    rows.write();
    changeRow();
  }
  written += Math.max(0, due);
}, 5);
process.stdin.on('end', () => process.exit(0)).resume(); // ends with the process that started it
