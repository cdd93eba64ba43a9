// Many WebSocket clients in one process. The first tells frames apart; the others only count bytes.
import { connect } from 'node:net';
import { answer, wait } from './live-process.mjs';

const OPENED_AT_ONCE = 50;
const clients = [];
let frames = 0;
let bytesOfFrames = 0;
let lastText = '';
let rest = Buffer.alloc(0);

function open(url) {
  const { hostname, port, pathname, search } = new URL(url);
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), hostname, () =>
      socket.write(
        `GET ${pathname}${search} HTTP/1.1\r\nHost: ${hostname}:${port}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n`,
      ),
    );
    const client = { bytes: 0 };
    socket.once('error', reject);
    socket.once('data', (head) => {
      if (!head.toString('latin1').startsWith('HTTP/1.1 101')) reject(new Error(head.toString('latin1')));
      const isFirst = clients.push(client) === 1;
      socket.on('data', (chunk) => {
        client.bytes += chunk.length;
        if (isFirst) walk(chunk);
      });
      resolve();
    });
  });
}

function walk(chunk) {
  rest = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
  for (;;) {
    if (rest.length < 4) return;
    const short = rest[1];
    const [head, length] = short < 126 ? [2, short] : [4, rest.readUInt16BE(2)];
    if (rest.length < head + length) return;
    lastText = rest.toString('utf8', head, head + length);
    frames += 1;
    bytesOfFrames += head + length;
    rest = rest.subarray(head + length);
  }
}

/** Resolves when every client has so many more frames. */
async function until(count) {
  while (frames < count || clients.some(({ bytes }) => bytes < bytesOfFrames)) await wait(5);
  if (frames > count) throw new Error(`${frames} frames instead of ${count}`);
  frames = 0;
  bytesOfFrames = 0;
  for (const client of clients) client.bytes = 0;
}

answer({
  async connect({ url, clients: count }) {
    while (clients.length < count) {
      const missing = Math.min(OPENED_AT_ONCE, count - clients.length);
      await Promise.all(Array.from({ length: missing }, () => open(url)));
    }
  },
  until,
  async sample() {
    await until(1);
    return lastText;
  },
});
