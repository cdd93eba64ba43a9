const STEPS = ['▂', '▃', '▄', '▅', '▆', '▇', '█'] as const;
const NONE = '▁';

/** Returns a line of bars, the highest for the largest value. Only a zero has the lowest bar. */
export function sparkline(values: readonly number[]): string {
  const most = Math.max(...values, 1);
  return values
    .map((value) => (value <= 0 ? NONE : (STEPS[Math.ceil((value / most) * STEPS.length) - 1] ?? NONE)))
    .join('');
}

/** Returns the sums of consecutive groups of `count` values. */
export function summed(values: readonly number[], count: number): readonly number[] {
  return Array.from({ length: Math.ceil(values.length / count) }, (_, place) =>
    values.slice(place * count, (place + 1) * count).reduce((sum, value) => sum + value, 0),
  );
}
