// Measures the time from a row's commit in one process to its arrival in another.
import { summary } from './figures.mjs';
import { withCopy } from './live-copy.mjs';
import { startProcess } from './live-process.mjs';

const NO_WATCH = { nodeArguments: ['--import', new URL('no-watch.mjs', import.meta.url).pathname] };
const INTERVAL_MS = 1000;

export async function latencyRows(path, { rounds, rows, polledRows, meanMs }) {
  const measure = (options) => latencies(path, { rounds, rows, meanMs, ...options });
  const polled = await measure({ rounds: 1, rows: polledRows, meanMs: 130, service: NO_WATCH });
  const normal = await measure({});
  const full = await measure({ synchronous: 'FULL' });
  const posted = await measure({ isWebhook: true, rows: Math.ceil(rows / 3) });
  const row = (what, measured, part, bound) => ({
    what: `row committed → ${what}, ${part}`,
    rival: `polling at ${INTERVAL_MS} ms`,
    postern: summary(measured.map((round) => quantile(round, PARTS[part]))),
    rivals: summary(polled.map((round) => quantile(round, PARTS[part]))),
    unit: 'ms',
    bound,
  });
  return [
    row('WebSocket frame, synchronous=NORMAL', normal, 'p50', 1.5),
    row('WebSocket frame, synchronous=NORMAL', normal, 'p99', 10),
    row('WebSocket frame, synchronous=FULL', full, 'p50', 2.5),
    row('WebSocket frame, synchronous=FULL', full, 'p99', 12),
    row('webhook receiver', posted, 'p50', 4),
    {
      what: 'row committed → WebSocket frame without file events, the slowest',
      rival: 'its polling interval',
      postern: summary(polled.map((round) => Math.max(...round))),
      rivals: summary([INTERVAL_MS]),
      unit: 'ms',
      bound: 1.1 * INTERVAL_MS,
    },
  ];
}

const PARTS = { p50: 0.5, p99: 0.99 };

function quantile(values, part) {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length * part)];
}

/** Returns the latency of every row in milliseconds, one list per round. */
function latencies(path, { rounds, rows, meanMs, synchronous, isWebhook = false, service }) {
  return withCopy(path, { synchronous, service }, async ({ service: { socketUrl, post }, writer, keep }) => {
    const arrived = isWebhook ? await receive(post, keep) : await listen(socketUrl, keep);
    // Warms up, because the first event loads code that later ones use.
    await arrived(await writer.ask('trickle', { rows: 20, meanMs }));
    const measured = [];
    for (let round = 0; round < rounds; round += 1) {
      const written = await writer.ask('trickle', { rows, meanMs });
      const at = new Map((await arrived(written)).map(({ rowId, atMs }) => [rowId, atMs]));
      measured.push(written.map(({ rowId, atMs }) => at.get(rowId) - atMs));
    }
    return measured;
  });
}

async function listen(socketUrl, keep) {
  const listener = keep(startProcess('live-listener.mjs', socketUrl));
  await listener.ask('ready');
  return (written) => listener.ask('until', written.at(-1).rowId);
}

async function receive(post, keep) {
  const receiver = keep(startProcess('live-receiver.mjs'));
  const url = `http://127.0.0.1:${await receiver.ask('port')}/`;
  await post('/webhooks', { url, events: ['message.received'] });
  return (written) => receiver.ask('posts', written.length);
}
