/** Median, and the spread as lowest to highest. */
export function summary(values) {
  const sorted = [...values].sort((a, b) => a - b);
  return { median: sorted[Math.floor(sorted.length / 2)], low: sorted[0], high: sorted.at(-1) };
}

/** Times each of `runs` in turn, `rounds` times over; microseconds a call, each a summary. */
export function sideBySide(runs, { rounds, roundMs }) {
  const measured = runs.map(() => []);
  const calls = runs.map((run) => {
    for (let warm = 0; warm < 5; warm += 1) run();
    const started = performance.now();
    run();
    return Math.max(1, Math.round(roundMs / Math.max(0.001, performance.now() - started)));
  });
  for (let round = 0; round <= rounds; round += 1) {
    for (const [at, run] of runs.entries()) {
      const started = performance.now();
      for (let call = 0; call < calls[at]; call += 1) run();
      if (round > 0) measured[at].push(((performance.now() - started) * 1000) / calls[at]);
    }
  }
  return measured.map(summary);
}
