import * as z from 'zod';

export const junk = z.boolean().default(false).describe('true: include junk: spam, promotions, codes of services');

/** Returns the line to append to an answer from which junk was left out. Returns "" if no junk was left out. */
export function junkNote(leftOut: number, what: 'message' | 'event' | 'conversation'): string {
  if (leftOut === 0) return '';
  const [noun, verb] = leftOut === 1 ? [what, 'was'] : [`${what}s`, 'were'];
  return `\n${leftOut} ${noun} that macOS filed as junk ${verb} left out; junk=true shows them.`;
}
