import type { Overview, StatisticSeries } from '../../client/overview-types.ts';
import { examples } from '../../core/http/openapi/examples.ts';
import type { ResourceDocument } from '../../core/http/resource.ts';
import { overviewSchema, statisticsQuery, statisticsSchema } from './schema.ts';

const at = '2026-11-22T15:00:00Z';

const overviewExample = {
  status: examples.status,
  since: '2026-11-01T08:12:40Z',
  day: '2026-11-22T00:00:00Z',
  events: {
    since: '2026-11-22T00:00:00Z',
    today: 1284,
    minutes: [{ at, counts: { received: 4, sent: 1, reactions: 1 } }],
  },
  sends: { since: '2026-11-22T00:00:00Z', today: { sent: 86, held: 3, failed: 1, refused: 5 } },
  webhooks: [
    {
      id: examples.webhook.id,
      name: 'Home Assistant',
      origin: 'http://homeassistant.local:8123',
      state: 'healthy',
      behind: 0,
      points: [{ at, counts: { delivered: 17, retried: 1 } }],
      median_ms: 38,
      p95_ms: 120,
    },
  ],
  host: {
    macos: 'macOS 26.1',
    memory_bytes: 84_000_000,
    disk_free: 214_000_000_000,
    disk_total: 512_000_000_000,
    chat_db_bytes: 1_900_000_000,
    upload_bytes: 0,
  },
} satisfies Overview;

const statisticsExample = {
  by: 'hour',
  since: '2026-11-01T08:12:40Z',
  points: [
    { at: '2026-11-22T14:00:00Z', counts: { received: 61, sent: 22 } },
    { at, counts: { received: 70, sent: 18, changes: 31 } },
  ],
} satisfies StatisticSeries;

/** The home page and its counters in the documents of the API. */
export const DOCUMENT: ResourceDocument = {
  operations: {
    getOverview: {
      tag: 'Service',
      summary: 'The home page of the console in one answer',
      description:
        'The state of the service, the last hour by the minute, webhooks with their last 24 hours, keys, sends that wait, and the machine. ' +
        'Counting starts with the first start of the service, which `since` names.',
      answers: { 200: { description: 'The overview.', schema: 'Overview', example: overviewExample } },
    },
    getStatistics: {
      tag: 'Service',
      summary: 'Events, sends, webhooks or keys, counted by time',
      description:
        '`kind` is `events`, `sends`, `webhooks` or `keys`. Counts are kept for 60 minutes, 48 hours and 30 days. ' +
        'Counting starts with the first start of the service, which `since` names. ' +
        'The counts of keys come from the audit log, which counts repeated reads by the hour.',
      query: statisticsQuery,
      answers: { 200: { description: 'Oldest first.', schema: 'Statistics', example: statisticsExample } },
      mistakes: [{ pointer: '?by', message: 'The parameter `by` must be "minute", "hour" or "day".' }],
    },
  },
  schemas: { Overview: overviewSchema, Statistics: statisticsSchema },
};
