import * as z from 'zod';
import type { Conversation } from '../../model/conversation.ts';
import { conversationDetailsSchema } from '../../schema/details-schema.ts';
import { namesSchema } from '../../schema/names-schema.ts';
import { shapeOf } from '../../schema/shape.ts';

/** The contract's Conversation. */
export const conversationSchema = shapeOf<Conversation>()(
  z
    .object({
      id: z.string().meta({ description: 'Chat guid.' }),
      display_name: z.string().nullable(),
      participants: z.array(z.string()).readonly(),
      last_message_at: z.iso.datetime({ precision: 0 }),
      details: conversationDetailsSchema.optional(),
      names: namesSchema.optional(),
    })
    .meta({ id: 'Conversation' }),
);
