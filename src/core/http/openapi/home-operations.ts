import { statisticsQuery } from '../../schema/overview-schema.ts';
import { homeExamples as examples } from './home-examples.ts';
import type { Operation } from './operation.ts';

/** The operations for the owner's home page, its counters, and the configuration. */
export const HOME_OPERATIONS = {
  getOverview: {
    tag: 'Service',
    summary: 'The home page of the console in one answer',
    description:
      'The state of the service, the last hour by the minute, webhooks with their last 24 hours, keys, sends that wait, and the machine. ' +
      'Counting starts with the first request for the overview or for counts, and stops 30 days after the last one.',
    answers: { 200: { description: 'The overview.', schema: 'Overview', example: examples.overview } },
  },
  getStatistics: {
    tag: 'Service',
    summary: 'Events, sends, webhooks or keys, counted by time',
    description:
      '`kind` is `events`, `sends`, `webhooks` or `keys`. Counts are kept for 60 minutes, 48 hours and 30 days. Counting starts with the first request for counts or for the overview. ' +
      'The counts of keys come from the audit log, which counts repeated reads by the hour.',
    query: statisticsQuery,
    answers: { 200: { description: 'Oldest first.', schema: 'Statistics', example: examples.statistics } },
    mistakes: [{ pointer: '?by', message: 'The parameter `by` must be "minute", "hour" or "day".' }],
  },
  getConfig: {
    tag: 'Service',
    summary: 'Every setting of config.toml with its value and default',
    description:
      'The settings of the running service, without the key. ' +
      'The service reads the file only when it starts: to change a setting, edit the file and restart.',
    answers: { 200: { description: 'The settings.', schema: 'Config', example: examples.config } },
  },
} as const satisfies Record<string, Operation>;
