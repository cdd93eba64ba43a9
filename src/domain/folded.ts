const MARKS = /\p{M}/gu;

/** Returns the text without case, accents and surrounding spaces, for comparisons. */
export function folded(text: string): string {
  // Removes separate marks before normalizing, which sorts a letter's marks in quadratic time.
  const bare = text.replace(MARKS, '');
  return bare.normalize('NFD').replace(MARKS, '').toLowerCase().trim();
}
