// The databases everything is measured on: made once by the simulator, kept in bench/.cache.
import { existsSync, mkdirSync, renameSync, rmSync } from 'node:fs';
import { ChatDatabase } from '../dist/src/simulator/chat-database.js';
import { encodeAttributedBody } from '../dist/src/simulator/typedstream.js';

const CACHE = new URL('.cache/', import.meta.url).pathname;
const APPLE_EPOCH_S = 978_307_200;
const FIRST_S = 1_450_000_000 - APPLE_EPOCH_S;
const TEN_YEARS_S = 315_000_000;
const WORDS = 'the train is late again see you at eight bring bread and milk ok thanks Grüße 👋 wie geht es 明日'.split(
  ' ',
);

/** Path of a database with so many messages, on the macOS 26 schema. */
export function database(messages) {
  mkdirSync(CACHE, { recursive: true });
  const path = `${CACHE}chat-${messages}.db`;
  if (existsSync(path)) return path;
  console.log(`making ${path}`);
  const draft = `${path}.draft`;
  for (const end of ['', '-wal', '-shm']) rmSync(draft + end, { force: true });
  fill(draft, messages);
  renameSync(draft, path);
  return path;
}

function fill(path, messages) {
  const chats = Math.max(30, Math.round((messages * 3) / 1000));
  const busiest = Math.round(messages * 0.3);
  const random = seeded(26);
  const made = ChatDatabase.open(path, '26');
  made.sqlite.exec('PRAGMA synchronous = OFF');
  made.transaction(() => {
    const chat = [];
    const handle = [];
    for (let number = 0; number < chats; number += 1) {
      const address = `+1555${String(1_000_000 + number)}`;
      chat.push(made.directChat(address));
      handle.push(made.handle(address));
    }
    const bodies = Array.from({ length: 4000 }, () => {
      const text = Array.from(
        { length: 1 + Math.floor(random() * 24) },
        () => WORDS[Math.floor(random() * WORDS.length)],
      ).join(' ');
      return { text, blob: encodeAttributedBody(text) };
    });
    const insert =
      made.sqlite.prepare(`INSERT INTO message (guid, text, attributedBody, handle_id, version, service, account,
      account_guid, date, is_from_me, is_finished, is_delivered, is_sent, is_read, part_count)
      VALUES (?, ?, ?, ?, 10, 'iMessage', 'E:me@example.com', 'ACCOUNT-1', ?, ?, 1, 1, ?, ?, 1)`);
    const join = made.sqlite.prepare(
      'INSERT INTO chat_message_join (chat_id, message_id, message_date) VALUES (?, ?, ?)',
    );
    for (let row = 1; row <= messages; row += 1) {
      // Every conversation has a first message; the busiest has its share; the others fall off steeply.
      const number =
        row <= chats ? row - 1 : random() < busiest / messages ? 0 : 1 + Math.floor((chats - 2) * random() ** 3);
      const isOwn = random() < 0.4 ? 1 : 0;
      const { text, blob } = bodies[Math.floor(random() * bodies.length)];
      const date = BigInt(FIRST_S + Math.floor((row / messages) * TEN_YEARS_S)) * 1_000_000_000n + BigInt(row % 1000);
      insert.run(
        `${row.toString(16).padStart(8, '0').toUpperCase()}-0000-4000-8000-000000000000`,
        random() < 0.8 ? null : text,
        blob,
        isOwn ? 0 : handle[number],
        date,
        isOwn,
        isOwn,
        isOwn ? 0 : 1,
      );
      join.run(chat[number], row, date);
    }
  });
  made.analyze();
  made.sqlite.exec('PRAGMA wal_checkpoint(TRUNCATE)');
  made.close();
}

function seeded(seed) {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}
