// Keeps 16 connections busy for a while, in its own process. Arguments: port, path, key, milliseconds. Prints the
// requests per second.
import { connect } from 'node:net';

const [port, path, key, forMs] = [Number(process.argv[2]), process.argv[3], process.argv[4], Number(process.argv[5])];
const request = `GET ${path} HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nX-API-Key: ${key}\r\n\r\n`;
let done = 0;
let failed;
const sockets = Array.from({ length: 16 }, () => {
  const socket = connect(port, '127.0.0.1', () => socket.write(request))
    .setNoDelay(true)
    .setEncoding('latin1');
  let head = '';
  let left = -1;
  socket.on('data', (text) => {
    if (left < 0) {
      head += text;
      const end = head.indexOf('\r\n\r\n');
      if (end < 0) return;
      if (!head.startsWith('HTTP/1.1 200')) failed = head.slice(0, end);
      left = Number(/content-length: (\d+)/i.exec(head)?.[1]) - (head.length - end - 4);
    } else left -= text.length;
    if (left > 0) return;
    head = '';
    left = -1;
    done += 1;
    socket.write(request);
  });
  return socket;
});
const started = performance.now();
setTimeout(() => {
  for (const socket of sockets) socket.destroy();
  if (failed !== undefined) throw new Error(failed);
  process.stdout.write(String((done * 1000) / (performance.now() - started)));
}, forMs);
