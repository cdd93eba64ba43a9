// A process that writes to a chat.db and never closes it: `node chat-writer.mjs FILE`, one guid a line on stdin.
import Database from 'better-sqlite3';

const database = new Database(process.argv[2]);
database.pragma('journal_mode = WAL');
const insert = database.prepare('INSERT INTO message (guid, is_from_me) VALUES (?, 0)');
process.stdin.setEncoding('utf8');
process.stdin.on('data', (text) => {
  for (const guid of text.split('\n')) if (guid !== '') insert.run(guid);
  process.stdout.write('written\n');
});
