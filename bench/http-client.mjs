// Sends requests one after another on one connection, in its own process. Avoids fetch, whose first requests cost as
// much as a short answer of the service. Arguments: port, key.
import { once } from 'node:events';
import { connect } from 'node:net';
import { answer } from './live-process.mjs';

const [port, key] = [Number(process.argv[2]), process.argv[3]];
let socket;

/** Returns the answer's body, and the milliseconds until its last byte arrived. */
async function asked(path) {
  // Reconnects, because the service closes a connection that is idle for some seconds.
  if (socket === undefined || socket.destroyed || socket.readableEnded) {
    socket = connect(port, '127.0.0.1').setNoDelay(true);
    await once(socket, 'connect');
  }
  const parts = [];
  let missing = Number.POSITIVE_INFINITY;
  const done = new Promise((resolve, reject) => {
    socket.removeAllListeners('data').removeAllListeners('close');
    socket.once('close', () => reject(new Error('the connection was closed')));
    socket.on('data', (part) => {
      parts.push(part);
      missing -= part.length;
      if (missing === Number.POSITIVE_INFINITY) {
        const head = Buffer.concat(parts);
        const end = head.indexOf('\r\n\r\n');
        if (end < 0) return;
        if (!head.subarray(0, 12).equals(Buffer.from('HTTP/1.1 200'))) return reject(new Error(head.toString()));
        missing = Number(/content-length: (\d+)/i.exec(head.toString('latin1', 0, end))[1]) - (head.length - end - 4);
      }
      if (missing === 0) resolve(performance.now() - startedAt);
    });
  });
  const startedAt = performance.now();
  socket.write(`GET ${path} HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nX-API-Key: ${key}\r\n\r\n`);
  const ms = await done;
  const whole = Buffer.concat(parts);
  return { ms, body: whole.subarray(whole.indexOf('\r\n\r\n') + 4) };
}

answer({
  async times({ path, count }) {
    const all = [];
    let last;
    for (let n = 0; n < count; n += 1) {
      last = await asked(path);
      all.push(last.ms);
    }
    return { ms: all, json: JSON.parse(String(last.body)) };
  },
});
