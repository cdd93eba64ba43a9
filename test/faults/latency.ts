import { expect } from '@jest/globals';

/** Milliseconds from a row's commit to its arrival. */
export interface Latency {
  readonly p50: number;
  readonly p99: number;
}

export function latencyOf(tookMs: readonly number[]): Latency {
  const sorted = tookMs.toSorted((a, b) => a - b);
  const at = (share: number): number => sorted[Math.floor(sorted.length * share)] ?? Number.NaN;
  return { p50: at(0.5), p99: at(0.99) };
}

/** Expects that runs with trouble are as quick as those without: compares the medians of interleaved runs. */
export function expectUnchanged(alone: readonly Latency[], beside: readonly Latency[]): void {
  const [without, withTrouble] = [medians(alone), medians(beside)];
  console.log(
    `milliseconds from commit to arrival: ${JSON.stringify({ without, withTrouble, runs: { alone, beside } })}`,
  );
  expect(withTrouble.p50).toBeLessThanOrEqual(without.p50 * 1.5);
  expect(withTrouble.p99).toBeLessThanOrEqual(without.p99 * 2 + 5);
}

function medians(runs: readonly Latency[]): Latency {
  const of = (name: keyof Latency): number => latencyOf(runs.map((run) => run[name])).p50;
  return { p50: of('p50'), p99: of('p99') };
}
