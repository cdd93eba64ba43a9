// Measures what happens live: events on their way out, many clients, idling, starting.
import { limitedSocketRows } from './access-sockets.mjs';
import { catchUpRows } from './live-catch-up.mjs';
import { clientRows } from './live-clients.mjs';
import { idleRows } from './live-idle.mjs';
import { latencyRows } from './live-latency.mjs';
import { startRows } from './live-start.mjs';
import { streamRows } from './live-streams.mjs';
import { webhookRows } from './live-webhooks.mjs';

const LONG = {
  latency: { rounds: 3, rows: 1000, polledRows: 100, meanMs: 15 },
  catchUp: { rounds: 5, rows: 100_000 },
  clients: { rounds: 7, clients: 1000, events: 500, singles: 50 },
  limited: { rounds: 5, clients: 1000, singles: 20 },
  webhooks: { rounds: 11, posts: 3000 },
  idle: { idleMs: 60_000 },
  start: { rounds: 9 },
};
const QUICK = {
  latency: { rounds: 1, rows: 100, polledRows: 20, meanMs: 15 },
  catchUp: { rounds: 2, rows: 10_000 },
  clients: { rounds: 2, clients: 200, events: 200, singles: 10 },
  limited: { rounds: 2, clients: 100, singles: 5 },
  webhooks: { rounds: 3, posts: 800 },
  idle: { idleMs: 10_000 },
  start: { rounds: 3 },
};

/** Yields the rows. All measurements but the start use copies of `small`, into which rows are written. */
export async function* liveRows({ small, large, isQuick }) {
  const effort = isQuick ? QUICK : LONG;
  yield await startRows(large, effort.start);
  yield await idleRows(small, effort.idle);
  yield await latencyRows(small, effort.latency);
  yield await catchUpRows(small, effort.catchUp);
  yield await clientRows(small, effort.clients);
  yield await streamRows(small, effort.clients);
  yield await limitedSocketRows(small, effort.limited);
  yield await webhookRows(small, effort.webhooks);
}
