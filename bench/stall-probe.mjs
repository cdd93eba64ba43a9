// Loaded into the service before it starts: says, when asked, how long the event loop stood still at most since the last
// time, by the clock, and how much processor time passed at most from one turn to the next. Where others use the machine
// too, the second tells whose fault it was.
const TICK_MS = 1;
let longest = { wallMs: 0, cpuMs: 0 };
let lastAt = performance.now();
let lastCpu = process.cpuUsage();

setInterval(() => {
  const at = performance.now();
  const cpu = process.cpuUsage();
  const cpuMs = (cpu.user + cpu.system - lastCpu.user - lastCpu.system) / 1000;
  longest = {
    wallMs: Math.max(longest.wallMs, at - lastAt - TICK_MS),
    cpuMs: Math.max(longest.cpuMs, cpuMs),
  };
  lastAt = at;
  lastCpu = cpu;
}, TICK_MS).unref();

process.on('message', () => {
  process.send(longest);
  longest = { wallMs: 0, cpuMs: 0 };
});
// Listening to its parent must not keep a service alive that was asked to stop.
process.channel.unref();
