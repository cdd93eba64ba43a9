// Writes rows into one chat.db, or several in turn, at a steady rate. Runs in its own process, which can be killed at
// any moment. Arguments: paths, total rows per second. Every row is whole when its transaction ends. Every fifth row is
// an own message, every tenth a reaction. With --seed the simulated Messages writes the rows, and some become whole
// later or never. With --rows it ends after that many rows, once the last of them is whole.
import { randomUUID } from 'node:crypto';
import { dirname, join } from 'node:path';
import { parseArgs } from 'node:util';
import Database from 'better-sqlite3';
import { SimulatedRows } from './simulated-rows.mjs';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { seed: { type: 'string' }, rows: { type: 'string', default: 'Infinity' } },
});
const paths = positionals.slice(0, -1);
const rate = Number(positionals.at(-1));

function writerOf(path) {
  const database = new Database(path, { fileMustExist: true });
  database.pragma('foreign_keys = ON');
  const message = database.prepare(
    `INSERT INTO message (guid, text, date, handle_id, service, is_from_me, is_sent, is_delivered, is_finished,
                          associated_message_type, associated_message_guid)
     VALUES (?, ?, ?, 1, 'iMessage', ?, ?, 1, 1, ?, ?)`,
  );
  const toChat = database.prepare('INSERT INTO chat_message_join (chat_id, message_id, message_date) VALUES (1, ?, ?)');
  let total = 0;
  return database.transaction((count) => {
    for (let row = 0; row < count; row += 1) {
      const date = BigInt(Date.now() - 978_307_200_000) * 1_000_000n;
      total += 1;
      const isOwn = total % 5 === 0 ? 1 : 0;
      const isReaction = total % 10 === 7;
      const { lastInsertRowid } = message.run(
        randomUUID(),
        `row written at ${date}`,
        date,
        isOwn,
        isOwn,
        isReaction ? 2000 : 0,
        isReaction ? 'p:0/GONE' : null,
      );
      toChat.run(lastInsertRowid, date);
    }
  });
}

function simulatedWriterOf(path) {
  const rows = new SimulatedRows(join(dirname(path), '../..'), Number(values.seed));
  return (count) => {
    for (let row = 0; row < count; row += 1) rows.write();
  };
}

const writers = paths.map(values.seed === undefined ? writerOf : simulatedWriterOf);
let turn = 0;

const started = performance.now();
let written = 0;
const timer = setInterval(() => {
  const due = Math.min(Math.floor(((performance.now() - started) / 1000) * rate), Number(values.rows)) - written;
  if (due <= 0) return;
  // Several transactions, because most commits on a Mac hold a single row.
  const most = writers.length === 1 ? 5 : 1;
  for (let left = due; left > 0; left -= most) {
    writers[turn % writers.length](Math.min(most, left));
    turn += 1;
  }
  written += due;
  if (written < Number(values.rows)) return;
  clearInterval(timer);
  process.stdin.destroy();
}, 5);
process.stdin.on('end', () => process.exit(0)).resume(); // ends with the process that started it
