import * as z from 'zod';
import type { BackendHealth } from '../model/ports/reading-ports.ts';
import { shapeOf } from './shape.ts';

/** The contract's Health record. */
export interface Health {
  readonly status: 'ok';
  readonly backend: BackendHealth;
}

export const healthSchema = shapeOf<Health>()(
  z
    .object({
      status: z.literal('ok'),
      backend: z.object({
        connected: z.boolean().meta({ description: 'The chat database was opened successfully.' }),
        message: z.string().nullable().meta({ description: 'The problem, if there is one.' }),
      }),
    })
    .meta({ id: 'Health' }),
);
