// Reads the stream of events as a hub does, and records when each event arrives. Argument: address of the broker.
import { jetstream } from '@nats-io/jetstream';
import { connect } from '@nats-io/transport-node';
import { answer, nowMs, wait } from './live-process.mjs';

const nc = await connect({ servers: process.argv[2] });
const consumer = await jetstream(nc).consumers.get('EV');
const messages = await consumer.consume({ expires: 4000, idle_heartbeat: 1000, max_messages: 1000 });
const arrivals = [];
let newest = 0;
let atMs = 0;
let outOfOrder = 0;
(async () => {
  for await (const message of messages) {
    atMs = nowMs();
    const rowId = Number(message.json().data.id);
    if (rowId <= newest) outOfOrder += 1;
    newest = Math.max(newest, rowId);
    arrivals.push({ rowId, atMs });
  }
})();

answer({
  ready: () => true,
  /** Returns all arrivals since the last call, once `rowId` has arrived. */
  async until(rowId) {
    while (newest < rowId) await wait(5);
    return arrivals.splice(0);
  },
  /** Waits like `until`, but returns only the number of arrivals and the time of the last one. */
  async lastAt(rowId) {
    while (newest < rowId) await wait(5);
    return { count: arrivals.splice(0).length, atMs, outOfOrder };
  },
});
