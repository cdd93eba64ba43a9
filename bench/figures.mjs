/** Returns the median, the lowest and the highest value. */
export function summary(values) {
  const sorted = [...values].sort((a, b) => a - b);
  return { median: sorted[Math.floor(sorted.length / 2)], low: sorted[0], high: sorted.at(-1) };
}

/**
 * Times each of `runs` in turn, `rounds` times, and awaits promises. Returns a summary for each, in microseconds per
 * call.
 */
export async function sideBySide(runs, { rounds, roundMs }) {
  const measured = runs.map(() => []);
  const calls = [];
  for (const run of runs) {
    await times(run, 5);
    calls.push(Math.max(1, Math.round(roundMs / Math.max(0.001, await times(run, 1)))));
  }
  for (let round = 0; round <= rounds; round += 1) {
    for (const [at, run] of runs.entries()) {
      const ms = await times(run, calls[at]);
      if (round > 0) measured[at].push((ms * 1000) / calls[at]);
    }
  }
  return measured.map(summary);
}

async function times(run, calls) {
  const started = performance.now();
  for (let call = 0; call < calls; call += 1) {
    const result = run();
    if (result instanceof Promise) await result;
  }
  return performance.now() - started;
}
