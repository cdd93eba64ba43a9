import * as z from 'zod';
import { shapeOf } from '../../schema/shape.ts';
import type { Problem } from '../problem-document.ts';

/** A problem may contain further members, depending on `code`. */
export const problemSchema = shapeOf<Problem>()(
  z
    .object({
      type: z.string(),
      title: z.string(),
      status: z.int(),
      detail: z.string(),
      code: z.string().meta({ description: 'Stable and snake_case.' }),
      error: z.string().meta({ description: 'The same as `detail`.' }),
      errors: z
        .array(
          z.object({
            pointer: z.string().meta({
              description: 'JSON pointer into the body, `?name` for a query parameter, or the name of a header.',
            }),
            message: z.string(),
          }),
        )
        .readonly()
        .optional(),
      hint: z.string().optional(),
    })
    .meta({ id: 'Problem' }),
);
