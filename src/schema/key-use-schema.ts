import * as z from 'zod';
import type { KeyUse } from '../domain/statistics.ts';
import { shapeOf } from './shape.ts';

/** The actions of a limited key today. */
export const keyUseSchema = shapeOf<KeyUse>()(
  z.object({ read: z.int(), asked: z.int(), sent: z.int(), refused: z.int() }),
);
