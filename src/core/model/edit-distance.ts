/**
 * Returns the number of letters to change, add, remove or swap with their neighbour to turn one text into the other.
 */
export function editDistance(one: string, other: string): number {
  let before: readonly number[] = [];
  let row = Array.from({ length: other.length + 1 }, (_, index) => index);
  for (let i = 1; i <= one.length; i += 1) {
    const next = [i];
    for (let j = 1; j <= other.length; j += 1) {
      const isSame = one[i - 1] === other[j - 1];
      const isSwapped = i > 1 && j > 1 && one[i - 1] === other[j - 2] && one[i - 2] === other[j - 1];
      next.push(
        Math.min(
          at(row, j - 1) + (isSame ? 0 : 1),
          at(row, j) + 1,
          at(next, j - 1) + 1,
          isSwapped ? at(before, j - 2) + 1 : Number.POSITIVE_INFINITY,
        ),
      );
    }
    before = row;
    row = next;
  }
  return at(row, other.length);
}

function at(row: readonly number[], index: number): number {
  return row[index] ?? 0;
}
