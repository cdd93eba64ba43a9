import * as z from 'zod';

/** Parameters of `GET /status`. `as` requests menu text instead of JSON. */
export const statusQuery = z.object({
  as: z
    .enum(['swiftbar', 'xbar'], { error: 'The parameter `as` must be "swiftbar" or "xbar".' })
    .optional()
    .meta({ description: 'Text for a menu bar program, instead of JSON.' }),
});
