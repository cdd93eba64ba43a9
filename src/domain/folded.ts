const MARKS = /\p{M}/gu;

/** Text without case, accents and surrounding spaces, to compare by. */
export function folded(text: string): string {
  // Normalizing sorts the marks of a letter, which takes the square of their number.
  const bare = text.replace(MARKS, '');
  return bare.normalize('NFD').replace(MARKS, '').toLowerCase().trim();
}
