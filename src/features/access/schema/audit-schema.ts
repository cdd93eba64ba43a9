import * as z from 'zod';
import { AUDIT_ACTIONS, type AuditEntry } from '../../../client/access-types.ts';
import { namesSchema } from '../../../core/schema/names-schema.ts';
import { limit, since } from '../../../core/schema/query-parameters.ts';
import { shapeOf } from '../../../core/schema/shape.ts';

/** One line of `GET /audit` (decision L4). */
export const auditSchema = shapeOf<AuditEntry>()(
  z
    .object({
      id: z.int(),
      at: z.string(),
      key_id: z.string().meta({ description: '`owner` for the key in config.toml.' }),
      action: z.enum(AUDIT_ACTIONS),
      target: z.string().nullable(),
      outcome: z.string(),
      text_hmac: z.string().nullable(),
      count: z.int().meta({ description: 'How often this happened.' }),
      names: namesSchema.optional(),
    })
    .meta({ id: 'AuditEntry' }),
);

/** Parameters of `GET /audit`. */
export const auditQuery = z.object({
  key: z.string().optional().meta({ description: 'Id of a key, or `owner`.' }),
  after: z
    .string()
    .refine(
      (value) => /^\d{1,15}$/.test(value),
      'The parameter `after` must be the id of a line, or 0 to start at the first.',
    )
    .transform(Number)
    .optional()
    .meta({
      type: 'integer',
      minimum: 0,
      description: 'Only lines after the one with this id. If absent, the newest lines.',
    }),
  before: z
    .string()
    .refine((value) => /^\d{1,15}$/.test(value), 'The parameter `before` must be the id of a line.')
    .transform(Number)
    .optional()
    .meta({ type: 'integer', minimum: 0, description: 'Only lines before the one with this id.' }),
  since: since.optional(),
  action: z
    .enum(AUDIT_ACTIONS, { error: `The parameter \`action\` must be one of ${AUDIT_ACTIONS.join(', ')}.` })
    .optional(),
  outcome: z.string().optional().meta({ description: 'Only lines with exactly this outcome.' }),
  target: z.string().optional().meta({ description: 'Only lines about exactly this conversation, address or id.' }),
  order: z.enum(['asc', 'desc'], { error: 'The parameter `order` must be "asc" or "desc".' }).default('asc').meta({
    description: 'asc, the default: oldest first. desc: newest first, with a `Link` to the page of older lines.',
  }),
  include: z
    .literal('contacts', { error: 'The parameter `include` must be "contacts".' })
    .optional()
    .meta({ description: '`contacts` adds the names of people.' }),
  limit: limit(100, 1000),
});
