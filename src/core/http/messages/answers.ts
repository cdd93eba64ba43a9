import * as z from 'zod';
import type { DryRun } from '../../model/ports/sending-ports.ts';
import { messageSchema } from '../../schema/message-schema.ts';
import { shapeOf } from '../../schema/shape.ts';

/**
 * Returns the schema of every 202 answer to a send. The message was handed to Messages but is not in chat.db yet, or
 * was taken over by a feature, whose answers are `deferred`.
 */
export function acceptedSendSchema(deferred: readonly z.ZodType[]): z.ZodType {
  return z.union([messageSchema, ...deferred]).meta({ id: 'AcceptedSend' });
}

/** Body of the 200 answer to a dry run. */
export const dryRunSchema = shapeOf<DryRun>()(
  z
    .object({
      would: z.enum(['send', 'hold']),
      to: z.string(),
      members: z.array(z.string()).readonly(),
      text: z.string(),
    })
    .meta({ id: 'DryRun' }),
);
