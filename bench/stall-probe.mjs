// Loaded into the service before it starts: says, when asked, how long the event loop stood still at most since the last
// time, by the clock, and how long of that its thread did not wait for a core (Linux). Where others use the machine too,
// the second tells whose fault it was.
import { openSync, readSync } from 'node:fs';

const TICK_MS = 1;
/** Nanoseconds on a core and waiting for one. */
const scheduled = openSync(`/proc/self/task/${process.pid}/schedstat`);
const text = Buffer.alloc(100);
let longest = { wallMs: 0, heldMs: 0 };
let lastAt;
let lastWaitedMs;
let ticking;

function waitedMs() {
  return Number(text.toString('latin1', 0, readSync(scheduled, text, 0, text.length, 0)).split(' ')[1]) / 1e6;
}

function tick() {
  const at = performance.now();
  const waited = waitedMs();
  const wallMs = at - lastAt - TICK_MS;
  longest = {
    wallMs: Math.max(longest.wallMs, wallMs),
    heldMs: Math.max(longest.heldMs, wallMs - (waited - lastWaitedMs)),
  };
  lastAt = at;
  lastWaitedMs = waited;
}

/** Some 1000 turns a second cost processor time themselves. */
function start() {
  lastAt = performance.now();
  lastWaitedMs = waitedMs();
  ticking = setInterval(tick, TICK_MS).unref();
}
start();

process.on('message', (what) => {
  clearInterval(ticking);
  if (what === 'stop') return;
  process.send(longest);
  longest = { wallMs: 0, heldMs: 0 };
  start();
});
// Listening to its parent must not keep a service alive that was asked to stop.
process.channel.unref();
