import * as z from 'zod';
import { shapeOf } from '../../core/schema/shape.ts';
import type { ChangesReport } from './report.ts';

/** The member `changes` of the status. */
export const changesSchema = shapeOf<ChangesReport>()(
  z.object({
    state: z.enum(['starting', 'on']).meta({
      description:
        '`starting` until every message has been examined once; until then, changes of old messages are missed.',
    }),
    logged: z.int().meta({ description: 'Number of changes kept for readers that resume.' }),
    swept_at: z.string().nullable().meta({
      description:
        'When Postern last finished comparing all messages with what it had recorded of them; null before the first time.',
    }),
  }),
).meta({ description: 'Detection of changes; absent while it is off.' });
