import * as z from 'zod';
import type { ConvertedForm } from '../../model/ports/reading-ports.ts';

const MIN_PIXELS = 16;
const MAX_PIXELS = 10_000;

/** Parameters of `GET /messages/{id}/attachments/{n}`. */
export const attachmentQuery = z.object({
  as: z.enum(['jpeg', 'm4a'], { error: 'The parameter `as` must be "jpeg" or "m4a".' }).optional().meta({
    description: 'Converts a picture to JPEG or a recording to M4A (AAC). If absent, returns the original file.',
  }),
  max: z
    .string()
    .transform((text, context) => {
      const value = /^\d{1,6}$/.test(text) ? Number(text) : 0;
      if (value >= MIN_PIXELS && value <= MAX_PIXELS) return value;
      const message = `The parameter \`max\` must be a whole number from ${MIN_PIXELS} to ${MAX_PIXELS}.`;
      context.issues.push({ code: 'custom', input: text, message });
      return z.NEVER;
    })
    .optional()
    .meta({
      type: 'integer',
      minimum: MIN_PIXELS,
      maximum: MAX_PIXELS,
      description: 'With `as=jpeg`: the maximum length of the longer side, in pixels.',
    }),
});

/** Returns the form that the client wants the attachment converted to; undefined for the original file. */
export function formOf({ as, max }: z.output<typeof attachmentQuery>): ConvertedForm | undefined {
  if (as === undefined) return undefined;
  return as === 'jpeg' ? { as, max } : { as };
}
