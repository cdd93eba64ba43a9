// Loaded into the service before it starts: says, when asked, how long the event loop stood still at most since the last
// time, by the clock, and how much processor time passed at most from one turn to the next. Where others use the machine
// too, the second tells whose fault it was.
const TICK_MS = 1;
let longest = { wallMs: 0, cpuMs: 0 };
let lastAt;
let lastCpu;
let ticking;

function tick() {
  const at = performance.now();
  const cpu = process.cpuUsage();
  const cpuMs = (cpu.user + cpu.system - lastCpu.user - lastCpu.system) / 1000;
  longest = {
    wallMs: Math.max(longest.wallMs, at - lastAt - TICK_MS),
    cpuMs: Math.max(longest.cpuMs, cpuMs),
  };
  lastAt = at;
  lastCpu = cpu;
}

/** Some 1000 turns a second cost processor time themselves. */
function start() {
  lastAt = performance.now();
  lastCpu = process.cpuUsage();
  ticking = setInterval(tick, TICK_MS).unref();
}
start();

process.on('message', (what) => {
  clearInterval(ticking);
  if (what === 'stop') return;
  process.send(longest);
  longest = { wallMs: 0, cpuMs: 0 };
  start();
});
// Listening to its parent must not keep a service alive that was asked to stop.
process.channel.unref();
