// Sets the wall clock of a process an hour forward at SIGUSR2, then an hour back, and so on.
const { now } = Date;
let aheadMs = 0;
process.on('SIGUSR2', () => {
  aheadMs = aheadMs === 0 ? 3_600_000 : 0;
});
Date.now = () => now() + aheadMs;
