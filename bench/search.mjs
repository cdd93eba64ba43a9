// Measures search over a million messages: the cost of the index, and each kind of question compared with a scan of all
// messages.
import { execFile } from 'node:child_process';
import { copyFileSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Connection } from '../dist/src/core/chatdb/connection.js';
import { DECODERS } from '../dist/src/features/rows.js';
import { Documents } from '../dist/src/features/search/index/documents.js';
import { openIndex } from '../dist/src/features/search/index/index-database.js';
import { IndexReader } from '../dist/src/features/search/index/index-source.js';
import { textsDatabase } from './database.mjs';
import { summary } from './figures.mjs';
import { cpuMs, residentMiB, startProcess, wait } from './live-process.mjs';
import { homeAround, writeAddressBook } from './names.mjs';
import { KEY, startService } from './service.mjs';

const PROBE = new URL('stall-probe.mjs', import.meta.url).href;
const silent = { debug() {}, info() {}, warn() {}, error() {}, child: () => silent };
/** Number of requests per question and round, and number of rounds. The first round warms up. */
const ASKED = 30;
const ROUNDS = 9;
const KIT_MS = 60_000;
/** Pause between two checks of the index's progress, which cost processor time too. */
const LOOK_MS = 1000;
/** Time for merging the pieces of the index once it is complete. */
const MERGED_MS = 20_000;
/** Longer than the minute without requests after which the reader thread ends. */
const IDLE_MS = 75_000;

/** The questions: name, request, pattern that a hit matches, and maximum milliseconds. */
const QUESTIONS = (quiet) => [
  ['a rare word', { q: 'xylophone' }, /\bxylophone\b/i, 3],
  ['a common word', { q: 'the' }, /\bthe\b/i, 3],
  ['a common word in a quiet conversation', { q: 'the', conversation_id: quiet }, /\bthe\b/i, 3],
  ['a phrase', { q: '"see you"' }, /\bsee you\b/i, 3],
  ['a prefix of three letters', { q: 'com*' }, /\bcom/i, 10],
  ['a common word in one month of 2018', { q: 'the after:2018-03-01 before:2018-04-01' }, /\bthe\b/i, 3],
  ['two Chinese characters', { q: '学校' }, /学校/, 3],
  ['a word that is nowhere', { q: 'zzyzx' }, /\bzzyzx\b/i, 3],
];

export async function searchRows(messages) {
  const path = textsDatabase(messages);
  const home = homeAround(path);
  writeAddressBook(home.addressBook);
  const service = await startService(home.chatDb, {
    nodeArguments: ['--import', PROBE],
    settings: `[search]\nenabled = true\n[changes]\nenabled = true\n`,
  });
  const client = startProcess('http-client.mjs', service.port, KEY);
  // URLSearchParams writes a space as +, which the service reads as a plus, as in phone numbers.
  const pathOf = (route, given) => `/api/v1${route}?${String(new URLSearchParams(given)).replaceAll('+', '%20')}`;
  const times = (count, route, given = {}) => client.ask('times', { path: pathOf(route, given), count });
  const ask = async (route, given) => (await times(1, route, given)).json;
  try {
    const rows = [...(await buildRows(service, ask, path))];
    const connection = new Connection({ path, home: '/', log: silent, decoders: DECODERS });
    connection.check();
    const naive = (pattern, given) => scan(new IndexReader(connection), pattern, given);
    const questions = QUESTIONS(quietChat(connection));
    const asked = await askAll(service, times, questions);
    // Measured before the rivals, which take so long that the reader thread ends.
    const used = await usedMemoryRow(service, times);
    rows.push(...questionRows(questions, asked, naive), used);
    for (const word of ['the', 'xylophone']) rows.push(await kitRow(path, word, rows));
    rows.push(newMessageRow(connection, join(service.folder, 'config/search.db'), service.folder));
    rows.push(...(await idleRows(service, times)));
    connection.close();
    return rows;
  } finally {
    await client.stop();
    await service.stop();
    rmSync(home.folder, { recursive: true });
  }
}

/**
 * Asks each question in turn, round after round. An answer without any reading shows what the client and HTTP alone
 * take.
 */
async function askAll(service, times, questions) {
  const first = await times(1, '/search', questions[0][1]);
  const cold = [];
  for (const [, given] of questions) cold.push(...(await times(3, '/search', given)).ms);
  const measured = questions.map(() => ({ ms: [], cpu: [] }));
  const bare = [];
  for (let round = 0; round <= ROUNDS; round += 1) {
    for (const [at, [, given]] of questions.entries()) {
      const usedMs = cpuMs(service.pid);
      const { ms, json } = await times(ASKED, '/search', given);
      measured[at].found = json.length;
      if (round === 0) continue;
      measured[at].ms.push(summary(ms).median);
      measured[at].cpu.push((cpuMs(service.pid) - usedMs) / ASKED);
    }
    bare.push(summary((await times(ASKED, '/health')).ms).median);
  }
  return { first: first.ms, cold, measured, bare };
}

function questionRows(questions, { first, cold, measured, bare }, naive) {
  const rows = questions.map(([what, given, pattern, bound], at) => {
    const { ms, cpu, found } = measured[at];
    const startedAt = performance.now();
    const count = naive(pattern, given);
    return {
      what: `search for ${what}, over HTTP`,
      note: `${found} hits, ${summary(cpu).median.toFixed(1)} ms of processor time; an answer without any reading ${summary(bare).median.toFixed(1)} ms`,
      postern: summary(ms),
      rival: 'reading and decoding until the page is full',
      rivals: summary([performance.now() - startedAt]),
      unit: 'ms',
      bound,
      isWrong: found !== count,
    };
  });
  const stated = [
    ['the first search of a service', first],
    ['the 24 after it, three of each kind', cold],
  ];
  return [...rows, ...stated.map(([what, ms]) => ({ what: `search: ${what}`, postern: summary(ms), unit: 'ms' }))];
}

/** Measures memory with search, changes and the names of 10,000 contacts all in use. */
async function usedMemoryRow(service, times) {
  await times(1, '/search', { q: 'the', include: 'contacts,details' });
  await times(1, '/events', { changes: 'true' });
  return memoryRow(service, 'after all searches');
}

async function idleRows(service, times) {
  await wait(IDLE_MS);
  const idle = memoryRow(service, 'idle for a minute');
  const { ms } = await times(1, '/search', { q: 'the' });
  return [idle, { what: 'search: the first one after a minute without any', postern: summary(ms), unit: 'ms' }];
}

function memoryRow(service, what) {
  return {
    what: `search, changes and contacts on: resident memory, ${what}`,
    postern: summary([residentMiB(service.pid)]),
    unit: 'MiB',
    bound: 120,
  };
}

/** Measures imessage-kit, which scans all messages until it has found 50. Gives it a minute. */
async function kitRow(path, word, rows) {
  const what = word === 'the' ? 'search for a common word, over HTTP' : 'search for a rare word, over HTTP';
  const { postern } = rows.find((row) => row.what === what);
  const rival = new URL('search-rival.mjs', import.meta.url).pathname;
  const asked = promisify(execFile)(process.execPath, [rival, path, word], { timeout: KIT_MS });
  const ms = await asked.then(({ stdout }) => JSON.parse(stdout).ms).catch(() => KIT_MS);
  return {
    what,
    note: ms < KIT_MS ? '' : 'the rival did not end within a minute',
    postern,
    rival: '@photon-ai/imessage-kit',
    rivals: summary([ms]),
    unit: 'ms',
    ratio: ms / postern.median,
  };
}

/**
 * Measures in turn how long the index blocks the event loop, and its processor time without the probe, which costs some
 * itself.
 */
async function buildRows(service, ask, path) {
  const stalls = { wall: [0], held: [0] };
  const spent = { ms: 0, rows: 0 };
  let resident = 0;
  const longest = () =>
    new Promise((resolve) => {
      service.child.once('message', resolve);
      service.child.send('?');
    });
  let { search } = await ask('/status');
  for (let turn = 1; search.state !== 'complete'; turn += 1) {
    const isProbed = turn % 2 === 0;
    if (isProbed) await longest();
    else service.child.send('stop');
    const [rows, ms] = [search.indexed_rows, cpuMs(service.pid)];
    await wait(LOOK_MS);
    ({ search } = await ask('/status'));
    resident = Math.max(resident, residentMiB(service.pid));
    if (isProbed) {
      const { wallMs, heldMs } = await longest();
      stalls.wall.push(wallMs);
      stalls.held.push(heldMs);
    } else {
      spent.ms += cpuMs(service.pid) - ms;
      spent.rows += search.indexed_rows - rows;
    }
  }
  service.child.send('stop');
  await wait(MERGED_MS);
  const size = statSync(join(service.folder, 'config/search.db')).size;
  return [
    {
      what: 'search index made: processor time a message (33 are 30,000 a second)',
      postern: summary([(spent.ms * 1000) / spent.rows]),
      unit: 'µs',
      bound: 33,
    },
    {
      what: 'search index made: its size',
      note: `${Math.round(size / 1e6)} MB`,
      postern: summary([(size / statSync(path).size) * 100]),
      unit: '% of chat.db',
      bound: 12,
    },
    {
      what: 'event loop stands still: while the search index is made',
      note: `${Math.max(...stalls.held).toFixed(1)} ms at most without waiting for a core`,
      postern: summary(stalls.wall),
      unit: 'ms',
      bound: 20,
    },
    { what: 'search index made: highest resident memory', postern: summary([resident]), unit: 'MiB', bound: 120 },
  ];
}

/** Searches like a program without an index: decodes messages, newest first, until 50 match. */
function scan(reader, pattern, { conversation_id: conversation, q }) {
  const isDated = q.includes('after:');
  let next;
  let found = 0;
  do {
    const page = reader.listed(next, 500);
    for (const { body, conversation_id: id, timestamp } of reader.messages(page.rows.map(({ rowId }) => rowId))) {
      const isMeant =
        (conversation === undefined || id === conversation) && (!isDated || timestamp.startsWith('2018-03'));
      if (isMeant && pattern.test(body)) found += 1;
      if (found === 50) return found;
    }
    next = page.next;
  } while (next !== undefined);
  return found;
}

function quietChat(connection) {
  return connection.read(({ database }) =>
    String(
      database.get(`SELECT c.guid FROM chat c JOIN chat_message_join j ON j.chat_id = c.ROWID
        GROUP BY c.ROWID HAVING count(*) BETWEEN 40 AND 80 ORDER BY c.ROWID LIMIT 1`)?.[0],
    ),
  );
}

/** Measures adding one message per transaction to the whole index. */
function newMessageRow(connection, index, folder) {
  const copy = join(folder, 'copy.db');
  copyFileSync(index, copy);
  const { sqlite } = openIndex(copy);
  const documents = new Documents(sqlite);
  const reader = new IndexReader(connection);
  const [message] = reader.messages([reader.listed(undefined, 1).rows[0].rowId]);
  const ms = [];
  for (let n = 0; n < 500; n += 1) {
    const one = { ...message, id: String(1e9 + n), body: `${message.body} number ${n}` };
    const startedAt = performance.now();
    sqlite.transaction(() => {
      documents.put(one);
      documents.finish();
    });
    ms.push(performance.now() - startedAt);
  }
  sqlite.close();
  return { what: 'a new message is added to the whole search index', postern: summary(ms), unit: 'ms', bound: 1 };
}

if (process.argv[1] === new URL(import.meta.url).pathname) {
  const messages = Number(process.argv[2] ?? 1_000_000);
  for (const { what, note = '', postern, rivals, unit, bound, isWrong } of await searchRows(messages)) {
    const figure = ({ median, low, high }) =>
      `${median.toPrecision(3)} (${low.toPrecision(3)} to ${high.toPrecision(3)})`;
    console.log(
      `${what} ${note}: ${figure(postern)} ${unit}${rivals ? `; rival ${figure(rivals)}` : ''}; bound ${bound ?? ''}${isWrong ? ' WRONG' : ''}`,
    );
  }
}
