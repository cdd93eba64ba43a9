// Runs many clients of WebSockets or Server-Sent Events in one process. They only tell events apart and count them.
import { connect } from 'node:net';
import { answer, wait } from './live-process.mjs';

const OPENED_AT_ONCE = 50;
const TEXT = 0x81;
const COLON = 0x3a;
/** An empty pong, because all pings here are empty. Masked with zeros. */
const PONG = Buffer.from([0x8a, 0x80, 0, 0, 0, 0]);
const clients = [];
let lastText = '';

const UPGRADE =
  'Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n';

/** Opens a WebSocket for `ws:`, otherwise a stream of Server-Sent Events with `key` in its header. */
function open(url, key) {
  const { protocol, hostname, port, pathname, search } = new URL(url);
  const [headers, status, step] =
    protocol === 'ws:'
      ? [UPGRADE, 'HTTP/1.1 101', walk]
      : [`Accept: text/event-stream\r\nX-API-Key: ${key}\r\n`, 'HTTP/1.1 200', walkLines];
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), hostname, () =>
      socket.write(`GET ${pathname}${search} HTTP/1.1\r\nHost: ${hostname}:${port}\r\n${headers}\r\n`),
    );
    const client = { socket, frames: 0, rest: Buffer.alloc(0) };
    socket.once('error', reject);
    socket.once('data', (head) => {
      if (!head.toString('latin1').startsWith(status)) reject(new Error(head.toString('latin1')));
      clients.push(client);
      socket.on('data', (chunk) => step(client, chunk));
      resolve();
    });
  });
}

/** An event ends with an empty line; one that begins with a colon is a comment. */
function walkLines(client, chunk) {
  let rest = client.rest.length === 0 ? chunk : Buffer.concat([client.rest, chunk]);
  for (let end = rest.indexOf('\n\n'); end >= 0; end = rest.indexOf('\n\n')) {
    if (rest[0] !== COLON) client.frames += 1;
    rest = rest.subarray(end + 2);
  }
  client.rest = rest;
}

function walk(client, chunk) {
  let rest = client.rest.length === 0 ? chunk : Buffer.concat([client.rest, chunk]);
  while (rest.length >= 2) {
    const short = rest[1];
    if (short === 126 && rest.length < 4) break;
    const [head, length] = short < 126 ? [2, short] : [4, rest.readUInt16BE(2)];
    if (rest.length < head + length) break;
    if (rest[0] === TEXT) client.frames += 1;
    else client.socket.write(PONG);
    if (client === clients[0] && length > 0) lastText = rest.toString('utf8', head, head + length);
    rest = rest.subarray(head + length);
  }
  client.rest = rest;
}

/** Resolves once every client has `count` frames. Throws if one has more. */
async function until(count) {
  while (clients.some(({ frames }) => frames < count)) await wait(5);
  const wrong = clients.find(({ frames }) => frames !== count);
  if (wrong !== undefined) throw new Error(`${wrong.frames} frames instead of ${count}`);
  for (const client of clients) client.frames = 0;
}

answer({
  /** Connects all clients to `url`, or each to its own of `urls`. */
  async connect({ url, key, clients: count, urls = Array(count).fill(url) }) {
    for (let at = 0; at < urls.length; at += OPENED_AT_ONCE)
      await Promise.all(urls.slice(at, at + OPENED_AT_ONCE).map((one) => open(one, key)));
  },
  until,
  async sample() {
    await until(1);
    return lastText;
  },
});
