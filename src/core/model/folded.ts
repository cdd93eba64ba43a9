const MARKS = /\p{M}/gu;

/** Returns the text without case, accents and surrounding spaces, for comparisons. */
export function folded(text: string): string {
  // Normalizing sorts the marks of a letter in quadratic time, so separate marks are removed first.
  const bare = text.replace(MARKS, '');
  return bare.normalize('NFD').replace(MARKS, '').toLowerCase().trim();
}
