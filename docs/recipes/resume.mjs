// A WebSocket client that misses nothing, not even while it was not running itself.
// Usage: POSTERN_URL=http://127.0.0.1:3001 POSTERN_KEY_FILE=key.txt node resume.mjs last-row.txt   (npm install ws)
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import WebSocket from 'ws';

const { POSTERN_URL: url = 'http://127.0.0.1:3001', POSTERN_KEY_FILE: keyFile = 'key.txt' } = process.env;
const key = readFileSync(keyFile, 'utf8').trim();
const file = process.argv[2] ?? 'last-row.txt';
let after = existsSync(file) ? Number(readFileSync(file, 'utf8')) : await newestRow();
let waitMs = 250;

async function newestRow() {
  const answer = await fetch(`${url}/api/v1/status`, { headers: { 'X-API-Key': key } });
  if (!answer.ok) throw new Error(`the service answered ${answer.status}`);
  return (await answer.json()).newest_event.row_id;
}

function handle({ type, data }) {
  console.log(type, data.id); // the work; a crash in it means that this event comes again
}

function remember(row) {
  after = row;
  writeFileSync(`${file}.new`, String(row));
  renameSync(`${file}.new`, file); // whole or not at all
}

function connect() {
  const address = `${url.replace(/^http/, 'ws')}/api/v1/ws?api_key=${encodeURIComponent(key)}&after=${after}`;
  const socket = new WebSocket(address, { handshakeTimeout: 10_000 });
  let watch;
  const heard = () => {
    clearTimeout(watch);
    watch = setTimeout(() => socket.terminate(), 75_000); // the service pings every 30 s
  };
  socket.on('ping', heard);
  socket.on('open', () => {
    waitMs = 250;
    heard();
  });
  socket.on('message', (frame) => {
    const event = JSON.parse(frame);
    handle(event);
    remember(Number(event.data.id));
  });
  socket.on('error', ({ message }) => console.error(message));
  socket.on('close', () => {
    clearTimeout(watch);
    setTimeout(connect, waitMs);
    waitMs = Math.min(waitMs * 2, 10_000);
  });
}

remember(after);
connect();
