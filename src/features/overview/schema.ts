import * as z from 'zod';
import { type Overview, STATISTIC_SPANS, type StatisticSeries } from '../../client/overview-types.ts';
import { statusSchema } from '../../core/http/status/answers.ts';
import { shapeOf } from '../../core/schema/shape.ts';
import { approvalSchema, keyUseSchema } from '../access/types.ts';

const point = z.object({ at: z.string(), counts: z.record(z.string(), z.int()) });
const points = z.array(point).readonly();
const responses = {
  median_ms: z
    .int()
    .nullable()
    .optional()
    .meta({ description: 'Median response time, within 12 %; null without a delivery.' }),
  p95_ms: z.int().nullable().optional(),
};

/** Answer of `GET /stats/{kind}` (decision Z1). */
export const statisticsSchema = shapeOf<StatisticSeries>()(
  z
    .object({
      by: z.enum(STATISTIC_SPANS),
      since: z.string().meta({ description: 'When counting began; earlier spans are empty.' }),
      points: points.optional().meta({ description: 'For events and sends, oldest first.' }),
      subjects: z
        .record(z.string(), z.object({ points, ...responses }))
        .optional()
        .meta({ description: 'For webhooks and keys, by id.' }),
    })
    .meta({ id: 'Statistics' }),
);

/** Parameters of `GET /stats/{kind}`. */
export const statisticsQuery = z.object({
  by: z
    .enum(STATISTIC_SPANS, { error: 'The parameter `by` must be "minute", "hour" or "day".' })
    .default('hour')
    .meta({ description: "The length of each span. Days begin at midnight in the Mac's time zone." }),
  last: z
    .string()
    .refine((value) => /^[1-9]\d{0,3}$/.test(value), 'The parameter `last` must be a whole number, 1 or more.')
    .transform(Number)
    .optional()
    .meta({ type: 'integer', minimum: 1, description: 'Number of spans: at most 60 minutes, 48 hours or 30 days.' }),
});

const todaySince = z.string().meta({
  description: 'From when on `today` is complete: the beginning of the day, or when counting began.',
});

/** Answer of `GET /overview` (decision Z1). */
export const overviewSchema = shapeOf<Overview>()(
  z
    .object({
      status: statusSchema,
      since: z.string().meta({ description: 'When counting began.' }),
      day: z.string().meta({ description: "When today began in the Mac's time zone." }),
      events: z.object({
        since: todaySince,
        today: z.int(),
        minutes: points.meta({ description: 'The last 60 minutes by event type, the current one last.' }),
      }),
      sends: z.object({ since: todaySince, today: z.record(z.string(), z.int()).meta({ description: 'By outcome.' }) }),
      webhooks: z
        .array(
          z.object({
            id: z.string(),
            name: z.string().optional(),
            origin: z.string(),
            state: z.enum(['healthy', 'failing', 'held', 'paused']),
            behind: z.int(),
            points: points.meta({ description: 'The last 24 hours.' }),
            ...responses,
          }),
        )
        .readonly(),
      keys: z
        .array(
          z.object({
            id: z.string(),
            name: z.string(),
            last_used_at: z.string().nullable(),
            today: keyUseSchema,
            hours: z.array(z.int()).readonly().meta({ description: 'Actions in each of the last 24 hours.' }),
          }),
        )
        .readonly()
        .optional()
        .meta({ description: 'Most recently used first; absent before the first limited key.' }),
      approvals: z
        .array(z.object({ ...approvalSchema.shape, key_name: z.string() }))
        .readonly()
        .optional()
        .meta({ description: 'At most five held sends, those with the least time left first.' }),
      host: z.object({
        macos: z.string().optional(),
        memory_bytes: z.int().meta({ description: 'Memory that the service uses.' }),
        disk_free: z.int(),
        disk_total: z.int(),
        chat_db_bytes: z.int().optional(),
        index_bytes: z.int().optional().meta({ description: 'Size of the search index.' }),
        upload_bytes: z.int().meta({ description: 'Size of the files kept for sending.' }),
      }),
    })
    .meta({ id: 'Overview' }),
);
