// The databases for all measurements. The simulator makes each once, and bench/.cache keeps it.
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { decodeAttributedBody } from '../dist/src/core/chatdb/attributed-body.js';
import { ChatDatabase } from '../dist/src/features/simulator/chat-database.js';
import { fillLarge } from '../dist/src/features/simulator/fill.js';
import { encodeAttributedBody } from '../dist/src/features/simulator/typedstream.js';
import { retext } from './search-texts.mjs';

const CACHE = new URL('.cache/', import.meta.url).pathname;
const SIMULATOR = new URL('../dist/src/features/simulator/', import.meta.url).pathname;
const VERSION = '26';
const SEED = 26;

/**
 * Returns the path of a database with this many messages on the macOS 26 schema, three in ten of them in one
 * conversation.
 */
export function database(messages) {
  const conversations = Math.max(100, Math.round((messages * 3) / 1000));
  return cached(`chat-${messages}-in-${conversations}`, (path) =>
    make(path, { messages, conversations, busiest: Math.round(messages * 0.3) }),
  );
}

/** Returns the path of the console's database: 3,000 conversations, one of them with 100,000 messages. */
export function consoleDatabase() {
  return cached('console-200000-in-3000', (path) =>
    make(path, { messages: 200_000, conversations: 3000, busiest: 100_000 }),
  );
}

/** Like `database`, but most messages are read: one in six hundred is unread. */
export function readDatabase(messages) {
  const conversations = Math.max(100, Math.round((messages * 3) / 1000));
  return cached(`read-${messages}-in-${conversations}`, (path) =>
    make(path, { messages, conversations, busiest: Math.round(messages * 0.3) }, ({ sqlite }) =>
      sqlite.exec('UPDATE message SET is_read = 1 WHERE is_from_me = 0 AND ROWID % 600 > 0'),
    ),
  );
}

/** Returns the path of a database at its worst: no join of its one busy conversation has a date, as in an old chat. */
export function undatedDatabase(busiest) {
  return cached(`undated-${busiest}`, (path) =>
    make(path, { messages: busiest + 2000, conversations: 100, busiest }, ({ sqlite }) =>
      sqlite.exec('UPDATE chat_message_join SET message_date = 0 WHERE chat_id = 1'),
    ),
  );
}

/** Like `database`, with texts as people write them. */
export function textsDatabase(messages) {
  const conversations = Math.max(100, Math.round((messages * 3) / 1000));
  return cached(`texts-${messages}-in-${conversations}`, (path) =>
    make(path, { messages, conversations, busiest: Math.round(messages * 0.3) }, (made) => retext(made)),
  );
}

/** The word that some transcripts of voice messages contain. */
export const SPOKEN = 'gramophone';
const VOICE_ROWS = 50;

/** Like `textsDatabase`, but one message in fifty is a voice message with a transcript. */
export function transcriptsDatabase(messages) {
  const conversations = Math.max(100, Math.round((messages * 3) / 1000));
  return cached(`transcripts-${messages}-in-${conversations}`, (path) =>
    make(path, { messages, conversations, busiest: Math.round(messages * 0.3) }, (made) => {
      retext(made);
      speak(made);
    }),
  );
}

function speak({ sqlite }) {
  const update = sqlite.prepare('UPDATE message SET text = NULL, attributedBody = ? WHERE ROWID = ?');
  const rows = sqlite
    .prepare(
      `SELECT ROWID, attributedBody FROM message WHERE ROWID % ${VOICE_ROWS} = 0 AND attributedBody IS NOT NULL
       AND associated_message_type = 0`,
    )
    .all();
  sqlite.exec('BEGIN');
  for (const [row, body] of rows) {
    const word = row % (VOICE_ROWS * 20) === 0 ? ` ${SPOKEN}` : '';
    const attributes = { __kIMMessagePartAttributeName: 0, IMAudioTranscription: decodeAttributedBody(body) + word };
    update.run(encodeAttributedBody('\uFFFC', [{ length: 1, attributes }]), row);
  }
  sqlite.exec('COMMIT');
}

function make(path, filling, change = () => undefined) {
  const made = ChatDatabase.open(path, VERSION);
  fillLarge(made, { ...filling, seed: SEED });
  change(made);
  made.sqlite.exec('PRAGMA wal_checkpoint(TRUNCATE)');
  made.close();
}

/**
 * Returns the path of a cached database, after making it if necessary. Then also removes databases that another version
 * of the simulator made.
 */
function cached(name, write) {
  mkdirSync(CACHE, { recursive: true });
  const key = simulatorKey();
  const path = `${CACHE}${name}-${key}.db`;
  if (existsSync(path)) return path;
  for (const file of readdirSync(CACHE)) if (!file.includes(`-${key}.db`)) rmSync(CACHE + file);
  const draft = `${path}.draft`;
  for (const end of ['', '-wal', '-shm']) rmSync(draft + end, { force: true });
  process.stderr.write(`making ${path}\n`);
  write(draft);
  renameSync(draft, path);
  return path;
}

function simulatorKey() {
  const hash = createHash('sha256');
  for (const file of ['fill', 'chatter', 'inserts', 'typedstream', 'tables', 'chat-database'])
    hash.update(readFileSync(`${SIMULATOR}${file}.js`));
  hash.update(readFileSync(`${SIMULATOR}schemas/macos-${VERSION}.sql`));
  return hash.digest('hex').slice(0, 8);
}
