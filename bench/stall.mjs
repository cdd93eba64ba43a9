// Measures the longest time for which a request blocks the event loop of the real service, right after a commit.
import { once } from 'node:events';
import Sqlite from 'better-sqlite3';
import { summary } from './figures.mjs';
import { KEY, startService } from './service.mjs';

const PROBE = new URL('stall-probe.mjs', import.meta.url).href;
const MAX_MS = 20;
const QUIET_MS = 60;

export async function stallRows(path, undatedPath, { rounds }) {
  return [
    ...(await rowsOf(path, worstRequests(path), rounds)),
    ...(await rowsOf(undatedPath, undatedRequests(undatedPath), rounds)),
  ];
}

function worstRequests(path) {
  const { messages, conversations, busiest, quietest, old } = facts(path);
  const deep = (share) => Math.round(messages * share);
  const of = (chat) => `conversation_id=${encodeURIComponent(chat.guid)}`;
  return [
    ['newest 200 with details', '/messages?limit=200&include=details'],
    ['offset at nine tenths', `/messages?offset=${deep(0.9)}`],
    ['offset half way, oldest first, 200', `/messages?limit=200&order=asc&offset=${deep(0.5)}`],
    ['since= the beginning, offset at two thirds', `/messages?since=2016-01-02&offset=${deep(0.66)}`],
    ['busiest conversation, last offset', `/messages?${of(busiest)}&offset=${Math.round(busiest.rows * 0.9)}`],
    [
      'busiest conversation, since= the beginning, oldest first, deep',
      `/messages?${of(busiest)}&since=2016-01-02&order=asc&offset=${Math.round(busiest.rows * 0.5)}`,
    ],
    ['quietest conversation, since= the beginning', `/messages?${of(quietest)}&since=2016-01-02`],
    [`conversation with ${old.undated} undated joins`, `/messages?${of(old)}&limit=200`],
    [
      `conversation with ${old.undated} undated joins, last offset`,
      `/messages?${of(old)}&offset=${Math.round(old.rows * 0.9)}`,
    ],
    ['200 conversations', '/conversations?limit=200'],
    ['conversations, last offset', `/conversations?limit=200&offset=${conversations - 100}`],
    ['one old conversation', `/conversations/${encodeURIComponent(old.guid)}`],
    ['1000 events from the first', '/events?after=0&limit=1000'],
  ];
}

function undatedRequests(path) {
  const { busiest } = facts(path);
  const list = `/messages?conversation_id=${encodeURIComponent(busiest.guid)}`;
  const what = `conversation with ${busiest.rows} joins, none dated`;
  return [
    [`${what}: newest 50`, list],
    [`${what}: last offset`, `${list}&offset=${busiest.rows - 5000}`],
    [`${what}: itself`, `/conversations/${encodeURIComponent(busiest.guid)}`],
    [`all conversations, one with ${busiest.rows} joins, none dated`, '/conversations'],
  ];
}

function facts(path) {
  const sqlite = new Sqlite(path, { readonly: true });
  const chats = sqlite
    .prepare(`SELECT c.guid, count(*) AS rows, total(ifnull(j.message_date, 0) = 0) AS undated
      FROM chat c JOIN chat_message_join j ON j.chat_id = c.ROWID GROUP BY c.ROWID ORDER BY rows DESC`)
    .all();
  const messages = sqlite.prepare('SELECT count(*) FROM message').pluck().get();
  sqlite.close();
  const old = chats.toSorted((a, b) => b.undated - a.undated)[0];
  return { messages, conversations: chats.length, busiest: chats[0], quietest: chats.at(-1), old };
}

async function rowsOf(path, requests, rounds) {
  const writer = new Sqlite(path);
  const service = await startService(path, { nodeArguments: ['--import', PROBE] });
  let commits = writer.pragma('user_version', { simple: true });
  const stalled = async (url) => {
    await longest(service);
    if (url !== undefined) {
      // Makes a commit that changes no message, so that the service forgets everything it has cached.
      commits += 1;
      writer.pragma(`user_version = ${commits % 1_000_000}`);
      const answer = await fetch(`http://127.0.0.1:${service.port}/api/v1${url}`, { headers: { 'X-API-Key': KEY } });
      if (!answer.ok) throw new Error(`${url}: ${answer.status}`);
      await answer.arrayBuffer();
    }
    await new Promise((resolve) => setTimeout(resolve, QUIET_MS));
    return longest(service);
  };
  try {
    const rows = [];
    for (const [what, url] of requests) {
      const [asked, idle, held] = [[], [], []];
      await stalled(url);
      for (let round = 0; round < rounds; round += 1) {
        const { wallMs, heldMs } = await stalled(url);
        asked.push(wallMs);
        held.push(heldMs);
        idle.push((await stalled()).wallMs);
      }
      rows.push({
        what: `event loop stands still: ${what}`,
        note: `${summary(held).median.toFixed(1)} ms without waiting for a core`,
        postern: summary(asked),
        rival: 'no request',
        rivals: summary(idle),
        unit: 'ms',
        bound: MAX_MS,
      });
    }
    return rows;
  } finally {
    await service.stop();
    writer.close();
  }
}

async function longest({ child }) {
  child.send('?');
  const [answer] = await once(child, 'message');
  return answer;
}
