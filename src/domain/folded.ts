const MARKS = /\p{M}/gu;

/** Text without case, accents and surrounding spaces, for comparisons. */
export function folded(text: string): string {
  // Normalizing sorts a letter's marks, which is quadratic in their number.
  const bare = text.replace(MARKS, '');
  return bare.normalize('NFD').replace(MARKS, '').toLowerCase().trim();
}
