import * as z from 'zod';
import type { Mistake } from '../domain/errors.ts';
import { shapeOf } from './shape.ts';

/** Every answer of 400 and above (E1, RFC 9457). */
export interface Problem {
  readonly type: string;
  readonly title: string;
  readonly status: number;
  readonly detail: string;
  /** Stable and snake_case. */
  readonly code: string;
  /** The same as `detail`. */
  readonly error: string;
  /** Every mistake, when the input was bad. */
  readonly errors?: readonly Mistake[] | undefined;
  /** What the reader can do about it. */
  readonly hint?: string | undefined;
}

/** More members may stand in it, depending on `code`. */
export const problemSchema = shapeOf<Problem>()(
  z
    .object({
      type: z.string(),
      title: z.string(),
      status: z.int(),
      detail: z.string(),
      code: z.string().meta({ description: 'Stable and snake_case.' }),
      error: z.string().meta({ description: 'The same as detail.' }),
      errors: z
        .array(
          z.object({
            pointer: z.string().meta({
              description: 'JSON pointer into the body, ?name for a query parameter, or the name of a header.',
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
