/**
 * The error number osascript ends its message with, null when there is none. The words before it are in the
 * language of the Mac and may quote what was sent, so only the last parentheses count.
 */
export function scriptErrorNumber(stderr: string): number | null {
  const last = [...stderr.matchAll(/[(（]\s*([-−]?)(\d{1,9})\s*[)）]/g)].at(-1);
  if (last === undefined) return null;
  return (last[1] === '' ? 1 : -1) * Number(last[2]);
}
