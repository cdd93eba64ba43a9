/**
 * Returns the error number at the end of osascript's message, or null. The words before it are in the Mac's language
 * and may quote the sent text, so only the last parentheses are read.
 */
export function scriptErrorNumber(stderr: string): number | null {
  const last = [...stderr.matchAll(/[(（]\s*([-−]?)(\d{1,9})\s*[)）]/g)].at(-1);
  if (last === undefined) return null;
  return (last[1] === '' ? 1 : -1) * Number(last[2]);
}
