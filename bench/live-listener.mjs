// A WebSocket client that records when each event arrives. Argument: its address.
import { WebSocket } from 'ws';
import { answer, nowMs, wait } from './live-process.mjs';

const socket = new WebSocket(process.argv[2]);
const opened = new Promise((resolve, reject) => socket.once('open', resolve).once('error', reject));
const arrivals = [];
let newest = 0;
let atMs = 0;
let outOfOrder = 0;
socket.on('message', (data) => {
  atMs = nowMs();
  // At a hub, the id of a message is made of its guid, which ends with the row id (live-writer.mjs).
  const rowId = Number(JSON.parse(data).data.id.split('-').at(-1));
  if (rowId <= newest) outOfOrder += 1;
  newest = Math.max(newest, rowId);
  arrivals.push({ rowId, atMs });
});

answer({
  ready: () => opened.then(() => true),
  /** Returns all arrivals since the last call, once `rowId` has arrived. */
  async until(rowId) {
    while (newest < rowId) await wait(5);
    return arrivals.splice(0);
  },
  /** Waits like `until`, but returns only the number of arrivals, the time of the last one, and how many came too late. */
  async lastAt(rowId) {
    while (newest < rowId) await wait(5);
    return { count: arrivals.splice(0).length, atMs, outOfOrder };
  },
});
