// Measures reads in one process, without HTTP.
import Sqlite from 'better-sqlite3';
import { ChatDbHandle } from '../dist/src/core/chatdb/chatdb-handle.js';
import { Connection } from '../dist/src/core/chatdb/connection.js';
import { ChatReader } from '../dist/src/core/chatdb/reader.js';
import { Snapshot } from '../dist/src/core/chatdb/snapshot.js';
import { DECODERS } from '../dist/src/features/rows.js';
import { sideBySide, summary } from './figures.mjs';
import { openPlainSql } from './plain-sql.mjs';

const SILENT = { debug() {}, info() {}, warn() {}, error() {}, child: () => SILENT };
const PAGE = { order: 'desc', limit: 50, offset: 0 };

/** Applies `use` to a value or a promise: lists are promises, a single message is not. */
export const whenThere = (given, use) => (given instanceof Promise ? given.then(use) : use(given));
const items = (page) => whenThere(page, (given) => given.items);

/** Returns a connection that forgets everything it has cached before each read, as the service does after a commit. */
function forgetfulConnection(options) {
  const database = ChatDbHandle.open(options);
  let snapshot;
  return {
    read: (use) => database.inTransaction(() => use(snapshot)),
    forget: () => {
      snapshot = new Snapshot(database);
    },
  };
}

/** Opens Postern's reader on a database. Call `forget` to make the next read the first one after a commit. */
export function openReader(path, { isAfterCommit = false } = {}) {
  const options = { path, home: '/home/nobody', log: SILENT, decoders: DECODERS };
  const connection = isAfterCommit ? forgetfulConnection(options) : new Connection(options);
  connection.forget?.();
  return { reader: new ChatReader(connection), forget: () => connection.forget?.() };
}

/** Returns the questions for Postern's reader and for plain SQL on one database. */
export function questions(path, { isAfterCommit = false } = {}) {
  const { reader, forget } = openReader(path, { isAfterCommit });
  const plainSql = openPlainSql(path);
  // Returns the quietest conversation that fills a page, so that a large database has no more to read than a small one.
  const chatAt = (order) =>
    plainSql.sqlite
      .prepare(`SELECT c.guid FROM chat c JOIN chat_message_join j ON j.chat_id = c.ROWID
      GROUP BY c.ROWID HAVING count(*) >= ${PAGE.limit} ORDER BY count(*) ${order}, c.ROWID LIMIT 1`)
      .pluck()
      .get();
  const [busiest, quietest] = [chatAt('DESC'), chatAt('ASC')];
  const middle = plainSql.sqlite.prepare('SELECT max(ROWID) / 2 FROM message').pluck().get();
  const date = BigInt(
    plainSql.sqlite.prepare('SELECT CAST(date AS TEXT) FROM message WHERE ROWID = ?').pluck().get(middle),
  );
  const sinceNs = date + 978_307_200n * 1_000_000_000n;
  const list = (query) => items(reader.listMessages({ ...PAGE, ...query }));
  return [
    ['newest 50 messages', '/messages', () => list({}), () => plainSql.newest(50)],
    [
      'busiest conversation, newest 50',
      `/messages?conversation_id=${encodeURIComponent(busiest)}`,
      () => list({ conversationId: busiest }),
      () => plainSql.ofChat(busiest, 50),
    ],
    [
      'quietest conversation, newest 50',
      `/messages?conversation_id=${encodeURIComponent(quietest)}`,
      () => list({ conversationId: quietest }),
      () => plainSql.ofChat(quietest, 50),
    ],
    [
      'since= half way',
      `/messages?since=${new Date(Number(sinceNs / 1_000_000_000n) * 1000).toISOString()}`,
      () => list({ sinceNs }),
      () => plainSql.since(date, 50),
    ],
    ['one message by id', `/messages/${middle}`, () => reader.message(middle), () => plainSql.message(middle)],
    [
      '50 conversations',
      '/conversations',
      () => items(reader.listConversations({ limit: 50, offset: 0 })),
      () => plainSql.conversations(50),
    ],
    [
      'one conversation',
      `/conversations/${encodeURIComponent(busiest)}`,
      () => reader.conversation(busiest),
      () => plainSql.conversation(busiest),
    ],
  ].map(([name, url, ours, theirs]) => ({
    name,
    url,
    ours: () => {
      forget();
      return whenThere(ours(), JSON.stringify);
    },
    theirs: () => JSON.stringify(theirs()),
  }));
}

/** Measures answers between two commits, or with `isAfterCommit` the first answer after each commit. */
export async function readerRows(path, effort, { isAfterCommit = false } = {}) {
  const rows = [];
  for (const { name, ours, theirs } of questions(path, { isAfterCommit })) {
    const isSame = (await ours()) === theirs();
    const [postern, rival] = await sideBySide([ours, theirs], effort);
    rows.push({
      what: isAfterCommit ? `${name}, first after a commit` : name,
      rival: 'plain SQL',
      postern,
      rivals: rival,
      unit: 'µs',
      ratio: postern.median / rival.median,
      most: isAfterCommit ? undefined : 1.5,
      isWrong: !isSame,
      note: isSame ? '' : 'answers differ',
    });
  }
  return rows;
}

/** Compares Postern on the large database with Postern on the small one, and plain SQL likewise. */
export async function sizeRows(large, small, effort) {
  const few = questions(small);
  const rows = [];
  for (const [at, { name, ours, theirs }] of questions(large).entries()) {
    const [many, rival, manyBySql, fewBySql] = await sideBySide([ours, few[at].ours, theirs, few[at].theirs], {
      ...effort,
      rounds: effort.rounds * 2 + 1,
    });
    rows.push({
      what: `${name}: large against small database`,
      rival: 'Postern, 10,000 messages',
      postern: many,
      rivals: rival,
      unit: 'µs',
      ratio: many.median / rival.median,
      most: 1.3,
      note: `plain SQL itself: ${(manyBySql.median / fewBySql.median).toFixed(2)}`,
    });
  }
  return rows;
}

export async function deepPageRow(path, effort, depth = 100_000) {
  const { reader } = openReader(path);
  let page = await reader.listMessages({ ...PAGE, limit: 200 });
  for (let seen = 200; seen < depth && page.next !== undefined; seen += 200) {
    page = await reader.listMessages({ ...PAGE, limit: 200, cursor: page.next });
  }
  const cursor = page.next;
  const [deep, first] = await sideBySide(
    [
      () => whenThere(reader.listMessages({ ...PAGE, cursor }), JSON.stringify),
      () => whenThere(reader.listMessages(PAGE), JSON.stringify),
    ],
    effort,
  );
  return {
    what: `page ${depth} deep by its cursor`,
    rival: 'first page',
    postern: deep,
    rivals: first,
    unit: 'µs',
    ratio: deep.median / first.median,
    most: 1.5,
  };
}

/**
 * Measures the list of conversations after a new message, including what SQLite itself forgets at a commit. The message
 * is then deleted, so that the whole order is read again before the next round.
 */
export async function newMessageRow(path, { rounds }, bound) {
  const connection = new Connection({ path, home: '/home/nobody', log: SILENT });
  const reader = new ChatReader(connection);
  const plainSql = openPlainSql(path);
  const writer = new Sqlite(path);
  const newest = writer.prepare('SELECT max(date) FROM message').pluck().safeIntegers().get();
  const write = writer.transaction((chat) => {
    const { lastInsertRowid: row } = writer
      .prepare("INSERT INTO message (guid, text, date, handle_id, service) VALUES ('bench', 'new', ?, 1, 'iMessage')")
      .run(newest + 1_000_000_000n);
    writer
      .prepare('INSERT INTO chat_message_join (chat_id, message_id, message_date) VALUES (?, ?, ?)')
      .run(chat, row, newest + 1_000_000_000n);
  });
  const [ours, theirs] = [[], []];
  const list = () => reader.listConversations({ limit: 50, offset: 0 });
  await list();
  for (let round = 0; round < rounds * 3; round += 1) {
    write(round + 1);
    let started = performance.now();
    JSON.stringify(await list());
    ours.push((performance.now() - started) * 1000);
    started = performance.now();
    JSON.stringify(plainSql.conversations(50));
    theirs.push((performance.now() - started) * 1000);
    writer.exec("DELETE FROM message WHERE guid = 'bench'");
    await list();
  }
  connection.close();
  writer.close();
  const messages = plainSql.sqlite.prepare('SELECT max(ROWID) FROM message').pluck().get();
  const chats = plainSql.sqlite.prepare('SELECT count(*) FROM chat').pluck().get();
  plainSql.sqlite.close();
  return {
    what: `50 conversations of ${chats}, first after a new message of ${messages}`,
    rival: 'plain SQL',
    postern: summary(ours),
    rivals: summary(theirs),
    unit: 'µs',
    ratio: summary(ours).median / summary(theirs).median,
    bound,
  };
}
