import * as z from 'zod';
import { CHANGE_EVENT_TYPES, ROW_EVENT_TYPES } from '../../model/event.ts';
import { includeSet } from '../../model/include.ts';
import { parsedUrl } from '../../model/parsed-url.ts';
import { DELIVERY_OUTCOMES } from '../../model/webhook.ts';
import { includedPart } from '../../schema/include-parameter.ts';
import { AFTER_MISTAKE, afterMember } from '../../schema/offset-parameter.ts';
import { list, NOT_AN_OBJECT, text } from '../../schema/text.ts';
import { enabled, headerValue, onFailure, ownHeaders, webhookFilter, webhookName } from './members.ts';

/** The event types that a webhook may subscribe to. */
export const WEBHOOK_EVENT_TYPES = [...ROW_EVENT_TYPES, ...CHANGE_EVENT_TYPES] as const;

/** The URL of a webhook, as the parser writes it: with `\\` as `/`, for example, so that it is shown where it leads. */
export const webhookUrl = text('`url`', 2048)
  .refine((url) => webUrl(url) !== undefined, '`url` must be a complete http or https address.')
  .meta({ format: 'uri' })
  .transform((url) => webUrl(url)?.href ?? url);
const events = list(
  '`events`',
  z.enum(WEBHOOK_EVENT_TYPES, { error: `An event must be one of ${WEBHOOK_EVENT_TYPES.join(', ')}.` }),
  64,
)
  .min(1, 'There must be at least one event.')
  .refine(
    (types) => !types.includes('messages.changed') || types.some((type) => /^message\.(upd|rem)/.test(type)),
    '`messages.changed` can only be requested together with `message.updated` or `message.removed`.',
  )
  .transform((types) => [...new Set(types)]);
const secret = text('`secret`', 256).refine((value) => value !== '', '`secret` must not be empty.');
const include = list('`include`', includedPart, 8).transform(includeSet).optional();

/** Body of `POST /webhooks` (decisions F1, P1). */
export const webhookBody = z
  .object(
    {
      url: webhookUrl,
      events,
      secret: secret
        .optional()
        .meta({ description: 'Signs deliveries; never shown again.', minLength: 1, writeOnly: true }),
      include,
      name: webhookName.optional(),
      enabled: enabled.optional(),
      headers: ownHeaders(headerValue).optional(),
      on_failure: onFailure.optional(),
      filter: webhookFilter.optional(),
    },
    NOT_AN_OBJECT,
  )
  .meta({ id: 'WebhookRegistration' });

/** Body of `PATCH /webhooks/{id}` (decision P1). */
export const webhookChangesBody = z
  .object(
    {
      url: webhookUrl.optional(),
      events: events.optional(),
      secret: secret.nullable().optional().meta({
        description: 'Replaces the secret; the previous one also signs for 24 hours. null: deliveries are not signed.',
        minLength: 1,
        writeOnly: true,
      }),
      include,
      name: webhookName.nullable().optional(),
      enabled: enabled.optional(),
      headers: ownHeaders(headerValue.nullable()).nullable().optional().meta({
        description:
          'Sets the named headers and removes those whose value is null; other headers stay. null instead of an object removes all.',
      }),
      on_failure: onFailure.optional(),
      filter: webhookFilter.nullable().optional().meta({ description: 'Replaces the previous filter.' }),
    },
    NOT_AN_OBJECT,
  )
  .meta({ id: 'WebhookChanges' });

/** Parameters of `GET /webhooks` (decision Z2). */
export const webhooksQuery = z.object({
  include: z
    .literal('status', { error: 'The parameter `include` must be "status".' })
    .optional()
    .meta({ description: '`status` adds the members of `GET /webhooks/{id}`; passwords in URLs are then masked.' }),
});

/** Parameters of `GET /webhooks/{id}/deliveries` (decision Z2). */
export const deliveriesQuery = z.object({
  include: z
    .literal('tries', { error: 'The parameter `include` must be "tries".' })
    .optional()
    .meta({ description: '`tries` adds the attempts of each delivery, and the held delivery.' }),
  outcome: z
    .enum(DELIVERY_OUTCOMES, { error: `The parameter \`outcome\` must be one of ${DELIVERY_OUTCOMES.join(', ')}.` })
    .optional()
    .meta({ description: 'Only deliveries with this outcome.' }),
});

const REPLAY = 'Give either `after` (a position or "latest") or `dropped` (true).';

/** Body of `POST /webhooks/{id}/replay` (decisions H, P1, P6). */
export const replayBody = z
  .object(
    {
      after: z
        .union([z.literal('latest'), afterMember], { error: AFTER_MISTAKE })
        .optional()
        .meta({ description: 'A position to go back to, or `latest` to skip the backlog.' }),
      dropped: z
        .literal(true, { error: '`dropped` must be true.' })
        .optional()
        .meta({ description: 'Redelivers dropped events in the order of rows, before newer events.' }),
    },
    NOT_AN_OBJECT,
  )
  .refine(({ after, dropped }) => (after === undefined) !== (dropped === undefined), {
    path: ['after'],
    error: REPLAY,
    when: ({ issues }) => issues.length === 0,
  })
  .meta({ id: 'Replay' });

function webUrl(url: string): URL | undefined {
  return /^https?:\/\/[^\s\p{Cc}]+$/iu.test(url) ? parsedUrl(url) : undefined;
}
