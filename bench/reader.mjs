// Rows about reading: in one process, without HTTP.
import { Connection } from '../dist/src/chatdb/connection.js';
import { ChatDatabase } from '../dist/src/chatdb/database.js';
import { Edition } from '../dist/src/chatdb/edition.js';
import { ChatReader } from '../dist/src/chatdb/reader.js';
import { sideBySide } from './figures.mjs';
import { openFloor } from './floor.mjs';

const SILENT = { debug() {}, info() {}, warn() {}, error() {}, child: () => SILENT };
const PAGE = { order: 'desc', limit: 50, offset: 0 };

/** What takes the reader more than one turn of the event loop it promises. */
export const whenThere = (given, use) => (given instanceof Promise ? given.then(use) : use(given));
const items = (page) => whenThere(page, (given) => given.items);

/** Forgets all it has learned before every read, as the service does when there was a commit. */
function forgetfulConnection(options) {
  const database = ChatDatabase.open(options);
  let edition;
  return {
    read: (use) => database.inTransaction(() => use(edition)),
    forget: () => {
      edition = new Edition(database);
    },
  };
}

/** Postern's reader on a database, with `forget` for when each read is to be the first after a commit. */
export function openReader(path, { isAfterCommit = false } = {}) {
  const options = { path, home: '/home/nobody', log: SILENT };
  const connection = isAfterCommit ? forgetfulConnection(options) : new Connection(options);
  connection.forget?.();
  return { reader: new ChatReader(connection), forget: () => connection.forget?.() };
}

/** What is asked, of Postern's reader and of the floor, on one database. A long answer is a promise. */
export function questions(path, { isAfterCommit = false } = {}) {
  const { reader, forget } = openReader(path, { isAfterCommit });
  const floor = openFloor(path);
  // The quietest of those that fill a page, so that it is as much to read in a large database as in a small one.
  const chatAt = (order) =>
    floor.sqlite
      .prepare(`SELECT c.guid FROM chat c JOIN chat_message_join j ON j.chat_id = c.ROWID
      GROUP BY c.ROWID HAVING count(*) >= ${PAGE.limit} ORDER BY count(*) ${order}, c.ROWID LIMIT 1`)
      .pluck()
      .get();
  const [busiest, quietest] = [chatAt('DESC'), chatAt('ASC')];
  const middle = floor.sqlite.prepare('SELECT max(ROWID) / 2 FROM message').pluck().get();
  const date = BigInt(
    floor.sqlite.prepare('SELECT CAST(date AS TEXT) FROM message WHERE ROWID = ?').pluck().get(middle),
  );
  const sinceNs = date + 978_307_200n * 1_000_000_000n;
  const list = (query) => items(reader.listMessages({ ...PAGE, ...query }));
  return [
    ['newest 50 messages', '/messages', () => list({}), () => floor.newest(50)],
    [
      'busiest conversation, newest 50',
      `/messages?conversation_id=${encodeURIComponent(busiest)}`,
      () => list({ conversationId: busiest }),
      () => floor.ofChat(busiest, 50),
    ],
    [
      'quietest conversation, newest 50',
      `/messages?conversation_id=${encodeURIComponent(quietest)}`,
      () => list({ conversationId: quietest }),
      () => floor.ofChat(quietest, 50),
    ],
    [
      'since= half way',
      `/messages?since=${new Date(Number(sinceNs / 1_000_000_000n) * 1000).toISOString()}`,
      () => list({ sinceNs }),
      () => floor.since(date, 50),
    ],
    ['one message by id', `/messages/${middle}`, () => reader.message(middle), () => floor.message(middle)],
    [
      '50 conversations',
      '/conversations',
      () => items(reader.listConversations({ limit: 50, offset: 0 })),
      () => floor.conversations(50),
    ],
    [
      'one conversation',
      `/conversations/${encodeURIComponent(busiest)}`,
      () => reader.conversation(busiest),
      () => floor.conversation(busiest),
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

/** Answers between two commits, or each the first one after a commit. */
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

/** The large database against the small one, both read by Postern; and what that costs plain SQL. */
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
  let page = reader.listMessages({ ...PAGE, limit: 200 });
  for (let seen = 200; seen < depth && page.next !== undefined; seen += 200) {
    page = reader.listMessages({ ...PAGE, limit: 200, cursor: page.next });
  }
  const cursor = page.next;
  const [deep, first] = await sideBySide(
    [() => JSON.stringify(reader.listMessages({ ...PAGE, cursor })), () => JSON.stringify(reader.listMessages(PAGE))],
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
