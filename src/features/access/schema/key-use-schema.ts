import * as z from 'zod';
import type { KeyUse } from '../../../client/key-types.ts';
import { shapeOf } from '../../../core/schema/shape.ts';

/** Number of actions of a limited key today, by kind. */
export const keyUseSchema = shapeOf<KeyUse>()(
  z.object({ read: z.int(), asked: z.int(), sent: z.int(), refused: z.int() }),
);
