import * as z from 'zod';
import { ROW_EVENT_TYPES } from '../domain/event.ts';
import { includeSet } from '../domain/include.ts';
import type { DeliveryRecord, Webhook, WebhookStatus, WebhookTestResult } from '../domain/webhook.ts';
import { includedPart } from './include.ts';
import { shapeOf } from './shape.ts';
import { list, text } from './text.ts';

/** The contract's Webhook, without its write-only secret. */
export const webhookSchema = shapeOf<Webhook>()(
  z
    .object({
      id: z.string(),
      url: z.string(),
      events: z.array(z.enum(ROW_EVENT_TYPES)).readonly(),
      created_at: z.iso.datetime({ precision: 0 }),
    })
    .meta({ id: 'Webhook' }),
);

/** Body of `POST /webhooks` (decision F1). */
export const webhookBody = z
  .object(
    {
      url: text('The url', 2048)
        .refine(isWebUrl, 'The url must be a complete http or https address.')
        .meta({ format: 'uri' }),
      events: list(
        'The events',
        z.enum(ROW_EVENT_TYPES, { error: `An event must be one of ${ROW_EVENT_TYPES.join(', ')}.` }),
        64,
      )
        .min(1, 'There must be at least one event.')
        .transform((events) => [...new Set(events)]),
      secret: text('The secret', 256)
        .refine((value) => value !== '', 'The secret must not be empty.')
        .optional()
        .meta({ description: 'Signs deliveries; never shown again.', minLength: 1, writeOnly: true }),
      include: list('The parts to include', includedPart, 8).transform(includeSet).optional(),
    },
    { error: 'The body must be a JSON object.' },
  )
  .meta({ id: 'WebhookRegistration' });

/** Answer of `GET /webhooks/{id}` (decision H). */
export const webhookStatusSchema = shapeOf<Webhook & WebhookStatus>()(
  z
    .object({
      ...webhookSchema.shape,
      state: z.enum(['healthy', 'failing']),
      consecutive_failures: z.int(),
      last_success_at: z.string().nullable(),
      row_id: z.int().meta({ description: 'Row id up to which delivery is done.' }),
      behind: z.int().meta({ description: 'Number of published row ids that are still to be delivered.' }),
    })
    .meta({ id: 'WebhookStatus' }),
);

/** One record of `GET /webhooks/{id}/deliveries` (decision H). */
export const deliverySchema = shapeOf<DeliveryRecord>()(
  z
    .object({
      id: z.string().meta({ description: 'The X-Webhook-Delivery header of the request.' }),
      at: z.string(),
      event: z.enum([...ROW_EVENT_TYPES, 'webhook.test', 'gone']),
      row_id: z.int(),
      outcome: z.enum(['delivered', 'dropped', 'gone']),
      attempts: z.int(),
      status: z.int().nullable(),
      error: z.string().nullable(),
      duration_ms: z.int(),
    })
    .meta({ id: 'Delivery' }),
);

/** Answer of `POST /webhooks/{id}/test` (decision H). */
export const webhookTestSchema = shapeOf<WebhookTestResult>()(
  z
    .object({
      id: z.string(),
      delivered: z.boolean(),
      status: z.int().nullable(),
      error: z.string().nullable(),
      duration_ms: z.int(),
      answer: z.string().nullable().meta({ description: 'Beginning of the response body.' }),
    })
    .meta({ id: 'WebhookTest' }),
);

function isWebUrl(url: string): boolean {
  return /^https?:\/\/[^\s\p{Cc}]+$/iu.test(url) && URL.canParse(url);
}
