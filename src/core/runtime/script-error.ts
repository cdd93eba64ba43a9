/**
 * Returns the error number in the last parentheses of osascript's message, or null. Ignores the words before the
 * number, which are in the Mac's language and may quote the text of a send.
 */
export function scriptErrorNumber(stderr: string): number | null {
  const last = [...stderr.matchAll(/[(（]\s*([-−]?)(\d{1,9})\s*[)）]/g)].at(-1);
  if (last === undefined) return null;
  return (last[1] === '' ? 1 : -1) * Number(last[2]);
}
