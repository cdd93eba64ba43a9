import * as z from 'zod';
import { SEND_CHOICES } from '../../core/schema/send-choices.ts';
import { shapeOf } from '../../core/schema/shape.ts';
import { SCHEDULED_SOURCES, SCHEDULED_STATES, type ScheduledSend } from './scheduled.ts';

/** A scheduled send (decision X1). */
export const scheduledSchema = shapeOf<ScheduledSend>()(
  z
    .object({
      id: z.string(),
      source: z
        .enum(SCHEDULED_SOURCES)
        .meta({ description: '`phone`: scheduled with Send Later in Messages, and only shown here.' }),
      key_id: z.string().nullable(),
      state: z.enum(SCHEDULED_STATES),
      to: z.string().meta({ description: 'The address or conversation id that the message goes to.' }),
      text: z.string().nullable().meta({ description: 'null once the send has ended.' }),
      attachments: z.array(z.object({ name: z.string(), bytes: z.int(), sha256: z.string() })).readonly(),
      ...SEND_CHOICES,
      send_at: z.string(),
      send_until: z.string().nullable().meta({ description: 'After this time the send is `missed`.' }),
      created_at: z.string().nullable(),
      ended_at: z.string().nullable(),
      message_id: z.string().nullable(),
      problem: z.string().nullable().meta({ description: 'Code of the problem that ended it.' }),
    })
    .meta({ id: 'ScheduledSend' }),
);

/** Body of the 202 answer to a send with `send_at`. */
export const scheduledAnswerSchema = z.object({ scheduled: scheduledSchema }).meta({ id: 'ScheduledAnswer' });

/** Parameters of `GET /scheduled`. */
export const scheduledQuery = z.object({
  state: z
    .enum(SCHEDULED_STATES, { error: `The parameter \`state\` must be one of ${SCHEDULED_STATES.join(', ')}.` })
    .optional()
    .meta({ description: 'Only sends in this state. If absent, those that wait or are being sent.' }),
  source: z.enum(SCHEDULED_SOURCES, { error: 'The parameter `source` must be "postern" or "phone".' }).optional(),
});
