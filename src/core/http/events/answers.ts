import * as z from 'zod';
import { CHANGE_NAMES, type ChangeEvent, type Event, type RemovedMessage } from '../../model/event.ts';
import { messageSchema } from '../../schema/message-schema.ts';
import { reactionSchema } from '../../schema/reaction-schema.ts';
import { shapeOf } from '../../schema/shape.ts';

/** The contract's event envelope for webhooks and WebSocket clients. */
export const eventSchema = shapeOf<Event>()(
  z
    .discriminatedUnion('type', [
      z.object({ type: z.enum(['message.received', 'message.sent']), data: messageSchema }),
      z.object({ type: z.enum(['reaction.added', 'reaction.removed']), data: reactionSchema }),
    ])
    .meta({ id: 'Event' }),
);

/** `data` of `message.removed`. */
const removedSchema = shapeOf<RemovedMessage>()(
  z.object({
    id: z.string(),
    guid: z.string().meta({ description: '"" if it is no longer known.' }),
    conversation_id: z.string().meta({ description: '"" if it is no longer known.' }),
  }),
);

/** The events that report changes of earlier rows. */
export const changeEventSchema = shapeOf<ChangeEvent>()(
  z
    .discriminatedUnion('type', [
      z.object({
        type: z.literal('message.updated'),
        data: messageSchema,
        changes: z.array(z.enum(CHANGE_NAMES)).readonly().meta({ description: 'What changed.' }),
      }),
      z.object({ type: z.literal('message.removed'), data: removedSchema }),
      z.object({
        type: z.literal('messages.changed'),
        data: z
          .object({
            first_id: z.string(),
            last_id: z.string(),
            count: z.int(),
          })
          .meta({ description: 'Rows to read again: the first, the last, and how many of them changed.' }),
      }),
    ])
    .meta({ id: 'ChangeEvent' }),
);

/** Any event: a new row, or a change of an earlier row. */
export const anyEventSchema = z
  .intersection(
    z.union([eventSchema, changeEventSchema]),
    z.object({
      offset: z
        .string()
        .optional()
        .meta({ description: 'Only with changes: the position after this event, for `after`.' }),
    }),
  )
  .meta({ id: 'AnyEvent' });
