import * as z from 'zod';
import { rowOffset } from '../domain/offset.ts';
import { PERMISSION_REASONS } from '../domain/ports/permissions.ts';
import type { PermissionsAnswer, StatusReport } from '../domain/status.ts';
import { contactsHealthSchema } from './contacts.ts';
import { includeParameter } from './include.ts';
import { limit } from './query.ts';
import { shapeOf } from './shape.ts';

const backend = z.object({ connected: z.boolean(), message: z.string().nullable() });
const permissions = z
  .array(
    z.object({
      name: z.enum(['full_disk_access', 'automation']),
      state: z.enum(['granted', 'denied', 'unknown']),
      detail: z.string(),
      reason: z.enum(PERMISSION_REASONS).optional(),
    }),
  )
  .readonly();

const search = z.object({
  state: z.enum(['building', 'complete', 'failing']),
  indexed_rows: z.int(),
  total_rows: z.int().meta({ description: 'Rows of chat.db that may have to be indexed; reactions are left out.' }),
  indexed_from: z.string().nullable(),
  problem: z.string().nullable(),
});

/** Answer of `GET /status` (decision H). */
export const statusSchema = shapeOf<StatusReport>()(
  z
    .object({
      version: z.string(),
      uptime_s: z.int(),
      backend,
      newest_row: z.int().nullable(),
      newest_event: z.object({ row_id: z.int(), age_s: z.int().nullable() }),
      webhooks: z
        .array(
          z.object({
            id: z.string(),
            origin: z.string(),
            state: z.enum(['healthy', 'failing']),
            consecutive_failures: z.int(),
            last_success_at: z.string().nullable(),
            last_outcome: z.enum(['delivered', 'dropped', 'gone']).nullable(),
            last_error: z.string().nullable(),
          }),
        )
        .readonly(),
      permissions,
      contacts: contactsHealthSchema,
      search: search.optional().meta({ description: 'The index of search; absent while it is switched off.' }),
    })
    .meta({ id: 'Status' }),
);

/** Parameters of `GET /status`: `as` gives ready menu text instead of JSON. */
export const statusQuery = z.object({
  as: z
    .enum(['swiftbar', 'xbar'], { error: 'The parameter as must be swiftbar or xbar.' })
    .optional()
    .meta({ description: 'Text for a menu bar program, instead of JSON.' }),
});

/** Answer of `POST /permissions/check` (decision H). */
export const permissionsSchema = shapeOf<PermissionsAnswer>()(z.object({ permissions }).meta({ id: 'Permissions' }));

/** The offset that a client goes on from, in a query. */
export const afterParameter = z
  .string({ error: 'The parameter after is required: a row id, 0 for everything.' })
  .refine((text) => /^\d+$/.test(text), 'The parameter after must be a row id, a whole number of 0 or more.')
  // Beyond 2^53 there are no rows.
  .transform((text) => rowOffset(Math.min(Number(text), Number.MAX_SAFE_INTEGER)))
  .meta({ type: 'integer', minimum: 0, description: 'Row id; 0 for everything.' });

/** Parameters of `GET /events` (decision G4). */
export const eventsQuery = z.object({ after: afterParameter, limit: limit(100, 1000), include: includeParameter });

/** Parameters of the WebSocket beside its key (decision G3, decision H). */
export const webSocketQuery = z.object({ after: afterParameter.optional(), include: includeParameter });

/** Body of `POST /webhooks/{id}/replay` (decision H). */
export const replayBody = z
  .object(
    {
      after: z
        .int({ error: 'The row id must be a whole number of 0 or more.' })
        .min(0, 'The row id must be 0 or more.')
        .transform(rowOffset),
    },
    { error: 'The body must be a JSON object.' },
  )
  .meta({ id: 'Replay' });
