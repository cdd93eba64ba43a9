/**
 * Returns the text without the characters at its end that match `one`, a pattern for a single character. Takes linear
 * time, where `/…+$/` takes quadratic time.
 */
export function trimmedEnd(text: string, one: RegExp): string {
  let end = text.length;
  while (end > 0 && one.test(text.charAt(end - 1))) end -= 1;
  return text.slice(0, end);
}
