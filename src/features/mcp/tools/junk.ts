import * as z from 'zod';

export const junk = z.boolean().default(false).describe('true: include junk: spam, promotions, codes of services');

type Noun = 'message' | 'event' | 'conversation';

/** Returns the sentence that says how many things an answer lists. */
export function countNote(count: number, what: Noun): string {
  return `${count === 0 ? 'No' : count} ${what}${count === 1 ? '' : 's'}.`;
}

/** Returns the sentence about the junk that was left out of an answer; undefined if none was. */
export function junkNote(leftOut: number, what: Noun): string | undefined {
  if (leftOut === 0) return undefined;
  const [noun, verb] = leftOut === 1 ? [what, 'was'] : [`${what}s`, 'were'];
  return `${leftOut} ${noun} that macOS filed as junk ${verb} left out; junk=true shows them.`;
}
