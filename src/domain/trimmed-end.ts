/** The text without the characters at its end that `one` matches. Takes linear time, where `/…+$/` takes quadratic. */
export function trimmedEnd(text: string, one: RegExp): string {
  let end = text.length;
  while (end > 0 && one.test(text.charAt(end - 1))) end -= 1;
  return text.slice(0, end);
}
