// Loaded into the service before it starts: says, when asked, how long the event loop stood still at most.
import { monitorEventLoopDelay } from 'node:perf_hooks';

const delays = monitorEventLoopDelay({ resolution: 1 });
delays.enable();
process.on('message', () => {
  process.send(delays.max / 1e6);
  delays.reset();
});
// Listening to its parent must not keep a service alive that was asked to stop.
process.channel.unref();
