// Measures changes of existing messages: the cost of a pass, and how soon an edit arrives.
import { copyFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Sqlite from 'better-sqlite3';
import { Connection } from '../dist/src/core/chatdb/connection.js';
import { Fingerprints } from '../dist/src/core/chatdb/fingerprints.js';
import { ChatLog } from '../dist/src/core/chatdb/message-log.js';
import { changeStore } from '../dist/src/core/state/changes-store.js';
import { openStateDatabase } from '../dist/src/core/state/state-database.js';
import { ChangeDetection } from '../dist/src/features/changes/detection.js';
import { encodeAttributedBody } from '../dist/src/features/simulator/typedstream.js';
import { summary } from './figures.mjs';
import { withCopy } from './live-copy.mjs';
import { cpuMs, wait } from './live-process.mjs';
import { KEY, startService } from './service.mjs';

const SILENT = { debug() {}, info() {}, warn() {}, error() {}, child: () => SILENT };
const MAX_PASS_MS = 4;
/** There is at most one pass a second; this allows 10 % more. */
const MAX_LATENCY_MS = 1100;

export async function changeRows(path, { rounds, isQuick }) {
  const idle = isQuick
    ? { settlesMs: 2000, idleMs: 3000, idleRounds: 1 }
    : { settlesMs: 70_000, idleMs: 30_000, idleRounds: 3 };
  return [passRow(path, rounds), await latencyRow(path, isQuick ? 5 : 30), await idleRow(path, idle)];
}

/** Measures one pass after an edit of one of the newest messages, including storing the change. */
function passRow(path, rounds) {
  const folder = mkdtempSync(join(tmpdir(), 'postern-bench-changes-'));
  const copy = join(folder, 'chat.db');
  copyFileSync(path, copy);
  const writer = new Sqlite(copy);
  const connection = new Connection({ path: copy, home: folder, log: SILENT });
  const state = openStateDatabase(join(folder, 'state.db'));
  const cursor = new ChatLog(connection).newest();
  const { rowId } = cursor.offset;
  let timer;
  let nowMs = 0;
  const after = (_, run) => {
    timer = run;
    return () => undefined;
  };
  const detection = new ChangeDetection({
    mode: 'auto',
    store: changeStore(state),
    prints: new Fingerprints(connection),
    // Another thread does the sweep, so it never ends here.
    background: { range: () => new Promise(() => {}), origins: () => new Promise(() => {}) },
    cursor: () => cursor,
    stream: { lastRowId: rowId, readers: 1, restart() {} },
    publish() {},
    clock: { now: () => 0, monotonic: () => nowMs, after },
    log: SILENT,
  });
  try {
    detection.start();
    detection.noteAsked();
    const edit = writer.prepare('UPDATE message SET text = ?, date_edited = ? WHERE ROWID = ?');
    const times = [];
    for (let round = -3; round < rounds * 10; round += 1) {
      edit.run(`edit ${round}`, 700_000_000_000_000_000n + BigInt(round), rowId - 100 - round);
      connection.check();
      nowMs += 10_000;
      detection.noteCommit();
      const started = process.cpuUsage();
      timer();
      const { user, system } = process.cpuUsage(started);
      if (round >= 0) times.push((user + system) / 1000);
    }
    return {
      what: 'changes: one pass after a commit, processor time',
      postern: summary(times),
      unit: 'ms',
      bound: MAX_PASS_MS,
    };
  } finally {
    connection.close();
    state.close();
    writer.close();
    rmSync(folder, { recursive: true });
  }
}

/** Measures the time from an edit's commit to its WebSocket frame. */
async function latencyRow(path, edits) {
  return withCopy(path, {}, async ({ path: copy, service: { socketUrl } }) => {
    const { WebSocket } = await import('ws');
    const socket = new WebSocket(`${socketUrl}&changes=true`);
    const arrived = new Map();
    socket.on('message', (data) => {
      const { type, data: message } = JSON.parse(String(data));
      if (type === 'message.updated') arrived.get(message.body)?.(performance.now());
    });
    await new Promise((resolve) => socket.once('open', resolve));
    const writer = new Sqlite(copy);
    const rows = writer
      .prepare('SELECT ROWID FROM message WHERE associated_message_type = 0 ORDER BY ROWID DESC LIMIT ?')
      .pluck()
      .all(edits);
    // Messages writes the new text into both columns.
    const edit = writer.prepare('UPDATE message SET text = ?, attributedBody = ?, date_edited = ? WHERE ROWID = ?');
    const times = [];
    for (const [n, row] of rows.entries()) {
      const text = `edit ${n}`;
      const frame = new Promise((resolve) => arrived.set(text, resolve));
      const started = performance.now();
      edit.run(text, encodeAttributedBody(text), 700_000_000_000_000_000n + BigInt(n), row);
      times.push((await frame) - started);
    }
    writer.close();
    socket.terminate();
    return {
      what: 'changes: edit committed → WebSocket frame, one after the other',
      postern: summary(times),
      unit: 'ms',
      bound: MAX_LATENCY_MS,
    };
  });
}

/** Compares an idle service that detects changes with one that does not, at the same time. */
async function idleRow(path, { settlesMs, idleMs, idleRounds }) {
  const services = [];
  try {
    for (const isOn of [true, false]) {
      services.push(await startService(path, { settings: `[changes]\nenabled = ${isOn}\n` }));
    }
    const status = async ({ port }) =>
      (await fetch(`http://127.0.0.1:${port}/api/v1/status`, { headers: { 'X-API-Key': KEY } })).json();
    // Waits until every row was compared once. The thread that did this ends a minute later.
    while ((await status(services[0])).changes.state !== 'on') await wait(1000);
    await wait(settlesMs);
    const shares = services.map(() => []);
    for (let round = 0; round < idleRounds; round += 1) {
      const before = services.map(({ pid }) => cpuMs(pid));
      const startedAt = performance.now();
      await wait(idleMs);
      const passedMs = performance.now() - startedAt;
      for (const [at, { pid }] of services.entries()) shares[at].push(((cpuMs(pid) - before[at]) / passedMs) * 100);
    }
    const [on, off] = shares.map(summary);
    return {
      what: `changes: on and nobody asks, idle for ${Math.round(idleMs / 1000)} s: processor`,
      postern: on,
      rival: 'the same without them',
      rivals: off,
      unit: '% of a core',
      ratio: on.median / off.median,
      // Two equal services differ by some 5 % overall, and by 30 % in single rounds.
      most: 1.2,
    };
  } finally {
    for (const service of services) await service.stop();
  }
}

if (process.argv[1] === new URL(import.meta.url).pathname) {
  const { database } = await import('./database.mjs');
  const messages = Number(process.argv[2] ?? 1_000_000);
  for (const row of await changeRows(database(messages), { rounds: 9, isQuick: process.argv.includes('--quick') }))
    console.log(row);
}
