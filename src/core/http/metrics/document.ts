import type { ResourceDocument } from '../resource.ts';

/** Metrics in the documents of the API. */
export const DOCUMENT = {
  operations: {
    getMetrics: {
      tag: 'Service',
      summary: 'Metrics for Prometheus',
      description:
        'Counters and states of requests, sends, events and webhooks, in the text format that Prometheus reads. ' +
        'No label holds an address.',
      answers: { 200: { description: 'The text format.', type: 'text/plain' } },
    },
  },
} as const satisfies ResourceDocument;
