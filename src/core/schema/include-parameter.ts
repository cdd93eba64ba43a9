import * as z from 'zod';
import { INCLUDES, type Include, includeSet } from '../model/include.ts';

const PARTS = INCLUDES.join(' and ');

/** The parameter `include` of reads, events and the WebSocket (decision H). */
export const includeParameter = z
  .string()
  .optional()
  .transform((text, context) => {
    const names = text?.split(',') ?? [];
    for (const name of new Set(names.filter((given) => !isInclude(given)))) {
      context.issues.push({ code: 'custom', input: text, message: mistakeIn(name) });
    }
    return includeSet(names.filter(isInclude));
  })
  .meta({
    description: `Parts to add, separated by a comma: ${INCLUDES.map((name) => `\`${name}\``).join(', ')}.`,
    pattern: `^(${INCLUDES.join('|')})(,(${INCLUDES.join('|')}))*$`,
    examples: [INCLUDES.join()],
  });

/** An item of `include` in the body of a webhook. */
export const includedPart = z.enum(INCLUDES, {
  error: ({ input }) => `Only ${PARTS} can be included, not ${JSON.stringify(input)?.slice(0, 40)}.`,
});

/** The mistake for the unknown include `all`. The OpenAPI document shows it as an example. */
export const INCLUDE_MISTAKE = { pointer: '?include', message: mistakeIn('all') };

function mistakeIn(name: string): string {
  return `The parameter \`include\` takes ${PARTS}, separated by a comma, not ${JSON.stringify(name.slice(0, 40))}.`;
}

function isInclude(text: string): text is Include {
  return (INCLUDES as readonly string[]).includes(text);
}
