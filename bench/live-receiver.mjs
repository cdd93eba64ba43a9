// A webhook receiver that records when each post has arrived.
import { createServer } from 'node:http';
import { answer, nowMs, wait } from './live-process.mjs';

const arrivals = [];
const server = createServer((request, response) => {
  const chunks = [];
  request.on('data', (chunk) => chunks.push(chunk));
  request.on('end', () => {
    arrivals.push({ atMs: nowMs(), body: Buffer.concat(chunks), headers: request.rawHeaders });
    response.end('ok');
  });
});
server.keepAliveTimeout = 60_000;
const listening = new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));

async function arrived(posts) {
  while (arrivals.length < posts) await wait(5);
  return arrivals.splice(0);
}

answer({
  port: () => listening.then(() => server.address().port),
  /** Waits for `count` posts. Returns the row id and time of each. */
  async posts(count) {
    const posts = await arrived(count);
    return posts.map(({ atMs, body }) => ({ rowId: Number(JSON.parse(body).data.id), atMs }));
  },
  /** Waits for `count` posts. Returns their rate per second, and what one of them was. */
  async rate(count) {
    const posts = await arrived(count);
    const [first] = posts;
    const headers = Object.fromEntries(
      first.headers.flatMap((name, at) => (at % 2 === 0 ? [[name, first.headers[at + 1]]] : [])),
    );
    return {
      perSecond: ((posts.length - 1) * 1000) / (posts.at(-1).atMs - first.atMs),
      body: first.body.toString(),
      headers,
    };
  },
});
