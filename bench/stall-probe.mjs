// Loaded into the service before it starts. When asked, reports the longest time since the last question for which the
// event loop was blocked, and how much of that time its thread had a core (Linux). The second figure excludes the load
// of other programs.
import { openSync, readSync } from 'node:fs';

const TICK_MS = 1;
/** The file holds the nanoseconds that the thread spent on a core, and waiting for one. */
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

/** Runs only while measuring, because some 1,000 turns a second cost processor time themselves. */
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
// Without this, listening to the parent process would keep a stopped service alive.
process.channel.unref();
