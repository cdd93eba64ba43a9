import { z } from 'zod';
import { EVENT_TYPES } from '../domain/event.ts';
import type { Webhook } from '../domain/webhook.ts';
import { shapeOf } from './shape.ts';
import { list, text } from './text.ts';

/** The contract's Webhook, without its write-only secret. */
export const webhookSchema = shapeOf<Webhook>()(
  z
    .object({
      id: z.string(),
      url: z.string(),
      events: z.array(z.enum(EVENT_TYPES)).readonly(),
      created_at: z.iso.datetime({ precision: 0 }),
    })
    .meta({ id: 'Webhook' }),
);

/** Body of `POST /webhooks` (F1). */
export const webhookBody = z
  .object(
    {
      url: text('The url', 2048)
        .refine(isWebUrl, 'The url must be a complete http or https address.')
        .meta({ format: 'uri' }),
      events: list(
        'The events',
        z.enum(EVENT_TYPES, { error: `An event must be one of ${EVENT_TYPES.join(', ')}.` }),
        64,
      )
        .min(1, 'The events must name at least one.')
        .transform((events) => [...new Set(events)]),
      secret: text('The secret', 256)
        .refine((value) => value !== '', 'The secret must not be empty.')
        .optional()
        .meta({ description: 'Key of the signatures; never shown again.', minLength: 1, writeOnly: true }),
      include: list(
        'The parts to include',
        z.enum(['details'], { error: 'Only details can be included.' }),
        8,
      ).optional(),
    },
    { error: 'The body must be a JSON object.' },
  )
  .meta({ id: 'WebhookRegistration' });

function isWebUrl(url: string): boolean {
  return /^https?:\/\/[^\s\p{Cc}]+$/iu.test(url) && URL.canParse(url);
}
