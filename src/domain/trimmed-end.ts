/**
 * Returns the text without trailing characters that `one` matches. Takes linear time, where `/…+$/` takes quadratic
 * time.
 */
export function trimmedEnd(text: string, one: RegExp): string {
  let end = text.length;
  while (end > 0 && one.test(text.charAt(end - 1))) end -= 1;
  return text.slice(0, end);
}
