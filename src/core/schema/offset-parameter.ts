import * as z from 'zod';
import { type ClientOffset, decodeOffset } from '../model/offset.ts';

const MEANING = '0 for everything, or an `offset` from the service. A Mac also takes a row id.';

/** The query parameter `after`: the offset after which a client continues (decision I1). */
export const afterParameter = z
  .string()
  .transform(clientOffset('The parameter `after`'))
  .meta({ description: MEANING });

/** The member `after` of a body. In a body, a row id may also be a JSON number. */
export const afterMember = z
  .union([z.number().meta({ type: 'integer', minimum: 0 }), z.string()], { error: mistake('`after`') })
  .transform(clientOffset('`after`'))
  .meta({ description: MEANING });

/** The parameter `changes`, of the WebSocket and of `GET /events`. */
export const changesParameter = z
  .enum(['true', 'false'], { error: 'The parameter `changes` must be true or false.' })
  .optional()
  .transform((value) => value === 'true')
  .meta({
    description:
      'true: adds `message.updated`, `message.removed` and `messages.changed`, and gives every event its `offset`.',
  });

function clientOffset(what: string) {
  return (given: string | number, context: z.core.$RefinementCtx): ClientOffset => {
    const offset = decodeOffset(String(given));
    if (offset !== undefined) return offset;
    context.issues.push({ code: 'custom', input: given, message: mistake(what) });
    return z.NEVER;
  };
}

/** The mistake for an invalid `after` in the body of a replay. */
export const AFTER_MISTAKE = `${mistake('`after`').slice(0, -1)}, or "latest".`;

function mistake(what: string): string {
  return `${what} must be 0 or an offset from the service; a Mac also takes a row id (a whole number).`;
}
