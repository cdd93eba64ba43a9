import * as z from 'zod';
import { CHANGE_NAMES, type ChangeEvent, type Event, type RemovedMessage } from '../domain/event.ts';
import { includeParameter } from './include.ts';
import { messageSchema } from './message.ts';
import { afterParameter, changesParameter } from './offset.ts';
import { limit, wait } from './query.ts';
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

/** `data` of `message.removed`. */
const removedSchema = shapeOf<RemovedMessage>()(
  z.object({
    id: z.string(),
    guid: z.string().meta({ description: '"" where it is not known any more.' }),
    conversation_id: z.string().meta({ description: '"" where it is not known any more.' }),
  }),
);

/** What happened to rows that were there before (decision I3). */
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
          .object({ first_id: z.string(), last_id: z.string(), count: z.int() })
          .meta({ description: 'Rows to read again: the first, the last, and how many of them changed.' }),
      }),
    ])
    .meta({ id: 'ChangeEvent' }),
);

/** An event as those who ask for changes get it, and those who do not. */
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

const AFTER_REQUIRED = 'The parameter after is required: a row id, 0 for everything.';

/** What is answered to a `Last-Event-ID` that is none of the service's. */
export const LAST_EVENT_ID_MISTAKE = {
  pointer: 'Last-Event-ID',
  message: 'The Last-Event-ID must be the id of an event: a row id, or an offset that the service gave.',
};

/** Parameters of `GET /events` (decisions G4, I2, Q1). */
export const eventsQuery = z
  .object({
    after: afterParameter.optional(),
    changes: changesParameter,
    limit: limit(100, 1000),
    include: includeParameter,
    wait,
  })
  .refine((query) => query.after !== undefined || query.changes, {
    path: ['after'],
    error: AFTER_REQUIRED,
    // Also when something else is wrong: every mistake is named at once.
    when: ({ issues }) => !issues.some(({ path }) => path?.[0] === 'after' || path?.[0] === 'changes'),
  });

/** Parameters of the WebSocket beside its key, and of `GET /events` as a stream (decisions G3, H, I2, Q1). */
export const streamQuery = z.object({
  after: afterParameter.optional(),
  changes: changesParameter,
  include: includeParameter,
});
