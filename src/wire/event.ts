import * as z from 'zod';
import type { Event } from '../domain/event.ts';
import { messageSchema } from './message.ts';
import { reactionSchema } from './reaction.ts';
import { shapeOf } from './shape.ts';

/** The contract's event envelope, as webhooks and WebSocket clients get it. */
export const eventSchema = shapeOf<Event>()(
  z
    .discriminatedUnion('type', [
      z.object({ type: z.enum(['message.received', 'message.sent']), data: messageSchema }),
      z.object({ type: z.enum(['reaction.added', 'reaction.removed']), data: reactionSchema }),
    ])
    .meta({ id: 'Event' }),
);
