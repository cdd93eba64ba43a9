// Writes rows as Messages does, in its own process. Arguments: path, synchronous (NORMAL, FULL).
import Sqlite from 'better-sqlite3';
import { encodeAttributedBody } from '../dist/src/features/simulator/typedstream.js';
import { answer, nowMs, wait } from './live-process.mjs';

const [path, synchronous] = process.argv.slice(2);
const sqlite = new Sqlite(path);
sqlite.pragma(`synchronous = ${synchronous}`);
const message = sqlite.prepare(`INSERT INTO message (guid, text, attributedBody, handle_id, version, service, account,
  date, is_finished, is_sent, is_delivered, is_read, part_count) VALUES (?, ?, ?, 1, 10, 'iMessage', 'E:me@example.com', ?, 1, 1, 1, 0, 1)`);
const join = sqlite.prepare('INSERT INTO chat_message_join (chat_id, message_id, message_date) VALUES (1, ?, ?)');
let rowId = newest();
const write = sqlite.transaction((rows) => {
  for (let row = 0; row < rows; row += 1) {
    const date = BigInt(Date.now() - 978_307_200_000) * 1_000_000n;
    const text = `${row} the train is late again, see you at eight; bring bread and milk`;
    const isPlain = row % 5 === 0;
    // A hub gives a message the id of its guid, so the guid ends with the row id.
    const guid = `bench-${rowId + 1}`;
    rowId = Number(message.run(guid, isPlain ? text : null, encodeAttributedBody(text), date).lastInsertRowid);
    join.run(rowId, date);
  }
  return rowId;
});

function newest() {
  return sqlite.prepare('SELECT max(ROWID) FROM message').pluck().get();
}

answer({
  newest,
  /** Writes all rows in one transaction. Returns its last row id and when its commit returned. */
  burst: (rows) => ({ rowId: write(rows), atMs: nowMs() }),
  /** Writes one transaction per row, at random times. Returns the row id and commit time of each. */
  trickle: ({ rows, meanMs }) => oneByOne(rows, () => -Math.log(1 - Math.random()) * meanMs),
  /** Like `trickle`, but with a constant pause. */
  steady: ({ rows, everyMs }) => oneByOne(rows, () => everyMs),
});

async function oneByOne(rows, pauseMs) {
  const written = [];
  for (let row = 0; row < rows; row += 1) {
    await wait(pauseMs());
    written.push({ rowId: write(1), atMs: nowMs() });
  }
  return written;
}
