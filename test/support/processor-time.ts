/** Returns the milliseconds of processor time that this process has used, in all of its threads. */
export function processorMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

/** Returns the milliseconds of processor time that one run takes: the mean of as many runs as fit in `forMs`. */
export function costOf(run: () => unknown, forMs = 20): number {
  run(); // warm
  const startMs = processorMs();
  for (let runs = 1; ; runs += 1) {
    run();
    // Reading the time costs as much as a short run.
    if (runs < 16 || runs % 16 === 0) {
      const spentMs = processorMs() - startMs;
      if (spentMs >= forMs) return spentMs / runs;
    }
  }
}

/** Milliseconds that `fixedWork` takes, warm, on the machine for which the tests state their bounds. */
const REFERENCE_MS = 20;

/**
 * Returns how many times slower this machine is than the one for which the tests state their bounds, at least 1. It
 * varies while they run: other processes take caches and hyperthreads, and a hypervisor takes time that is counted as
 * ours.
 */
export function slowness(): number {
  const takenMs = [0, 0, 0].map(() => {
    const before = processorMs();
    fixedWork();
    return processorMs() - before;
  });
  return Math.max(1, Math.min(...takenMs) / REFERENCE_MS);
}

function fixedWork(): void {
  for (let round = 0; round < 200; round += 1) {
    const text = JSON.stringify(Array.from({ length: 200 }, (_, at) => ({ name: `name ${at}`, at, round })));
    if (text.split(',').length < (JSON.parse(text) as readonly unknown[]).length) {
      throw new Error('there is work missing');
    }
  }
}

/** Milliseconds of the first measurement: enough to suspect a step, which is then measured for longer. */
const FIRST_MS = 5;
/** How often the cost of a run may grow when its text grows ten times; 10 is linear. */
const MOST = 15;

/**
 * Returns the first step of ten at which the cost of `run` grew too much, as a sentence; undefined if it grows with the
 * length. A step that seems too steep is measured up to six more times, and the least growth counts, because other
 * processes evict the larger text from the caches first. What is really steep grows a hundred times.
 */
export function steepStep(run: (units: number) => () => unknown, sizes: readonly number[]): string | undefined {
  let before: { readonly size: number; readonly ms: number } | undefined;
  for (const size of sizes) {
    const ms = costOf(run(size), FIRST_MS);
    if (before !== undefined) {
      let growth = ms / before.ms;
      for (let again = 0; again < 6 && growth > MOST; again += 1) {
        growth = Math.min(growth, costOf(run(size)) / costOf(run(before.size)));
      }
      // The next size would take minutes if this one is steep.
      if (growth > MOST) return `${size} units cost ${growth.toFixed(1)} times as much as ${before.size}`;
    }
    before = { size, ms };
  }
  return undefined;
}
