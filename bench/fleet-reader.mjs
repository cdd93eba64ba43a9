// Reads the stream of events as a hub does. Argument: address of the broker. Keeps when each event arrived.
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
  /** Everything since the last call, once `rowId` is there. */
  async until(rowId) {
    while (newest < rowId) await wait(5);
    return arrivals.splice(0);
  },
  /** The same, told shortly. */
  async lastAt(rowId) {
    while (newest < rowId) await wait(5);
    return { count: arrivals.splice(0).length, atMs, outOfOrder };
  },
});
