// One WebSocket client. Argument: its address. Keeps when each event arrived.
import { WebSocket } from 'ws';
import { answer, nowMs, wait } from './live-process.mjs';

const socket = new WebSocket(process.argv[2]);
const opened = new Promise((resolve, reject) => socket.once('open', resolve).once('error', reject));
const arrivals = [];
let newest = 0;
let atMs = 0;
socket.on('message', (data) => {
  atMs = nowMs();
  // At a hub the id begins with that of the Mac.
  newest = Number(JSON.parse(data).data.id.split('~').at(-1));
  arrivals.push({ rowId: newest, atMs });
});

answer({
  ready: () => opened.then(() => true),
  /** Everything since the last call, once `rowId` is there. */
  async until(rowId) {
    while (newest < rowId) await wait(5);
    return arrivals.splice(0);
  },
  /** The same, told shortly. */
  async lastAt(rowId) {
    while (newest < rowId) await wait(5);
    return { count: arrivals.splice(0).length, atMs };
  },
});
