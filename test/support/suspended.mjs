// Runs a limit of 300 ms on this process's clock, stops itself, and prints what both clocks say once it continues.
import { AwakeClock } from '../../dist/src/core/runtime/awake-clock.js';
import { systemClock } from '../../dist/src/core/runtime/clock.js';

const quiet = { debug() {}, info() {}, warn() {}, error() {}, child: () => quiet };
const clock = new AwakeClock(systemClock, quiet, { beatMs: 20, lateMs: 400 });
clock.start();
const startedMs = systemClock.monotonic();
const awakeMs = clock.monotonic();
clock.after(300, () => {
  process.stdout.write(
    `${JSON.stringify({ awake: clock.monotonic() - awakeMs, passed: systemClock.monotonic() - startedMs })}\n`,
  );
  process.exit(0);
});
process.kill(process.pid, 'SIGSTOP');
