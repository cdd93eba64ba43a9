// Measures what a message contains besides its text: decoding it, reading it with a list, and searching it.

import { decodeAttributedBody } from '../dist/src/core/chatdb/attributed-body.js';
import { ChatDbHandle } from '../dist/src/core/chatdb/chatdb-handle.js';
import { Connection } from '../dist/src/core/chatdb/connection.js';
import { readAttributedText } from '../dist/src/core/chatdb/content/attributed-runs.js';
import { decodeRow } from '../dist/src/core/chatdb/content/message-content.js';
import { RowBudget } from '../dist/src/core/chatdb/content/row-budget.js';
import { Typedstream } from '../dist/src/core/chatdb/content/typedstream.js';
import { messageOf } from '../dist/src/core/chatdb/message.js';
import { withDetails } from '../dist/src/core/chatdb/message-details.js';
import { hasContent } from '../dist/src/core/chatdb/row-kinds.js';
import { Snapshot } from '../dist/src/core/chatdb/snapshot.js';
import { cardOf } from '../dist/src/features/content/cards.js';
import { DECODERS } from '../dist/src/features/rows.js';
import { IndexReader } from '../dist/src/features/search/index/index-source.js';
import { CONTENT_ROWS } from '../dist/src/features/simulator/content-rows.js';
import { encodeAttributedBody } from '../dist/src/features/simulator/typedstream.js';
import { SPOKEN, transcriptsDatabase } from './database.mjs';
import { sideBySide, summary } from './figures.mjs';
import { startProcess, wait } from './live-process.mjs';
import { KEY, startService } from './service.mjs';

const SILENT = { debug() {}, info() {}, warn() {}, error() {}, child: () => SILENT };
const PART = '__kIMMessagePartAttributeName';
const NO_ROW = { guid: '', text: '', balloon: '', associatedGuid: '', isVote: false, isUnsent: false };
const ASKED = 30;
const PAGE = 50;

export async function contentRows(path, effort, { isQuick }) {
  return [
    ...(await decodingRows(effort)),
    ...(await pageRows(path, effort)),
    await transcriptRow(isQuick ? 10_000 : 1_000_000, effort),
  ];
}

async function decodingRows(effort) {
  const rows = [];
  // Real bodies have 2 runs in the median and 22 at most.
  for (const runs of [2, 22]) {
    const attributedBody = Buffer.from(bodyWith(runs));
    const [parts, read, text, usual] = await sideBySide(
      [
        () => decodeRow({ ...NO_ROW, attributedBody }),
        () => readAttributedText(attributedBody, new RowBudget()),
        () => new Typedstream(attributedBody, new RowBudget()).text(),
        () => decodeAttributedBody(attributedBody),
      ],
      effort,
    );
    const beside = (what, rival, postern, rivals, most) =>
      rows.push({ what, rival, postern, rivals, unit: 'µs', ratio: postern.median / rivals.median, most });
    beside(`decode a body with ${runs} runs`, 'its text alone, by the same parser', read, text, 3);
    beside(`parts of a body with ${runs} runs`, 'its text alone, as lists read it', parts, usual);
  }
  const cards = [
    ['a link card', 'page'],
    ['an app card', 'turn of a game'],
    ['a poll', 'poll with a title'],
  ];
  for (const [what, name] of cards) {
    const { columns, blobs } = CONTENT_ROWS.find((row) => row.name === name);
    const row = { ...NO_ROW, balloon: columns.balloon_bundle_id, payload: Buffer.from(blobs.payload_data, 'base64') };
    const [postern] = await sideBySide(
      [() => decodeRow(row, undefined, { runs: [], read: (text, budget) => cardOf(text, row.payload, budget) })],
      effort,
    );
    rows.push({ what: `decode ${what} of ${row.payload.length} bytes`, postern, unit: 'µs' });
  }
  return rows;
}

/** Returns a body with this many runs of sixty characters, every other run bold. */
function bodyWith(runs) {
  const length = 60;
  const styled = Array.from({ length: runs }, (_, at) => ({
    length,
    attributes: { [PART]: 0, ...(at % 2 === 0 && { __kIMTextBoldAttributeName: 1 }) },
  }));
  return encodeAttributedBody(
    'see you at the station at half past six '.repeat(2).slice(0, length).repeat(runs),
    styled,
  );
}

/** Measures a page of ordinary texts, as a list reads it once its rows are found. */
async function pageRows(path, effort) {
  const options = { path, home: '/home/nobody', log: SILENT, decoders: DECODERS };
  const [whole, plain] = [ChatDbHandle.open(options), ChatDbHandle.open(options)];
  const content = hasContent(whole.schema);
  const ordinary = whole
    .all(`SELECT m.ROWID FROM message m WHERE ${content} = 0 AND m.associated_message_type = 0
      AND m.cache_has_attachments = 0 AND m.thread_originator_guid IS NULL ORDER BY m.ROWID DESC LIMIT ${PAGE}`)
    .map(([rowId]) => rowId);
  const [snapshot, without] = [new Snapshot(whole), new Snapshot(plain)];
  // Reads details without looking for content, as earlier versions did.
  without.queries = { ...without.queries, details: without.queries.details.replace(content, '0') };
  const read = (database, from, use) =>
    database.inTransaction(() => {
      from.beginRead();
      return JSON.stringify(ordinary.map((rowId) => use(messageOf(from, rowId))));
    });
  const withContent = () => read(whole, snapshot, (message) => withDetails(snapshot, message));
  const withoutContent = () => read(plain, without, (message) => withDetails(without, message));
  const isSame = withContent() === withoutContent();
  const [details, before, bare] = await sideBySide(
    [withContent, withoutContent, () => read(whole, snapshot, (message) => message)],
    { ...effort, rounds: effort.rounds * 2 + 1 },
  );
  whole.close();
  plain.close();
  return [
    {
      what: `${ordinary.length} ordinary texts with details`,
      rival: 'details without looking for content',
      postern: details,
      rivals: before,
      unit: 'µs',
      ratio: details.median / before.median,
      most: 1.1,
      isWrong: !isSame,
      note: isSame ? '' : 'answers differ',
    },
    {
      what: `${ordinary.length} ordinary texts with details`,
      rival: 'the same without details',
      postern: details,
      rivals: bare,
      unit: 'µs',
      ratio: details.median / bare.median,
    },
  ];
}

/**
 * Measures a search in transcripts. One message in fifty is a voice message, and one in twenty of those has the word.
 */
async function transcriptRow(messages, { rounds }) {
  const path = transcriptsDatabase(messages);
  const service = await startService(path, { settings: '[search]\nenabled = true\n' });
  const client = startProcess('http-client.mjs', service.port, KEY);
  const times = (count, route) => client.ask('times', { path: `/api/v1${route}`, count });
  try {
    while ((await times(1, '/status')).json.search.state !== 'complete') await wait(250);
    const ms = [];
    let hits = [];
    for (let round = 0; round <= rounds; round += 1) {
      const answer = await times(ASKED, `/search?q=${SPOKEN}`);
      hits = answer.json;
      if (round > 0) ms.push(summary(answer.ms).median);
    }
    const connection = new Connection({ path, home: '/', log: SILENT, decoders: DECODERS });
    const startedAt = performance.now();
    const count = scanned(new IndexReader(connection));
    const scanMs = performance.now() - startedAt;
    connection.close();
    return {
      what: `search of transcripts in ${messages.toLocaleString('en')} messages, over HTTP`,
      note: `${hits.length} hits`,
      rival: 'reading and decoding until the page is full',
      postern: summary(ms),
      rivals: summary([scanMs]),
      unit: 'ms',
      isWrong: hits.length === 0 || hits.length !== count || hits.some(({ in: place }) => place !== 'transcript'),
    };
  } finally {
    await client.stop();
    await service.stop();
  }
}

function scanned(reader) {
  let [found, next] = [0, undefined];
  do {
    const page = reader.listed(next, 500);
    for (const { texts = [] } of reader.messages(page.rows.map(({ rowId }) => rowId))) {
      if (texts.some(([, text]) => text.includes(SPOKEN))) found += 1;
      if (found === PAGE) return found;
    }
    next = page.next;
  } while (next !== undefined);
  return found;
}
