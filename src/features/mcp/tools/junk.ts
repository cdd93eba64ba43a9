import * as z from 'zod';
import type { Message } from '../../../core/model/message.ts';
import type { ToolContext } from './tool.ts';

export const junk = z.boolean().default(false).describe('true: include what macOS filed as junk');

/** Returns the items that macOS did not file as junk (decision V5), in their order. */
export function withoutJunk<Item>(
  items: readonly Item[],
  messageOf: (item: Item) => Message,
  { junkAmong }: Pick<ToolContext, 'junkAmong'>,
): readonly Item[] {
  const ids = junkAmong(items.map(messageOf));
  return ids.size === 0 ? items : items.filter((item) => !ids.has(messageOf(item).id));
}

/** Returns the line to append to an answer from which junk was left out. Returns "" if no junk was left out. */
export function junkNote(leftOut: number, what: 'message' | 'event'): string {
  if (leftOut === 0) return '';
  const [noun, verb] = leftOut === 1 ? [what, 'was'] : [`${what}s`, 'were'];
  return `\n${leftOut} ${noun} that macOS filed as junk ${verb} left out; junk=true shows them.`;
}
