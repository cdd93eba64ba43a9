import type { ProblemText } from './problem-text.ts';

export const WEBHOOK_PROBLEMS = {
  webhook_not_found: { status: 404, detail: 'There is no webhook with this id.' },
  delivery_not_found: {
    status: 404,
    detail:
      'This id is not among the last 100 deliveries of this webhook, or the event of that delivery can no longer be read.',
    hint: 'Changes and tests cannot be resent individually. POST …/replay redelivers everything after a position.',
  },
  too_many_webhooks: {
    status: 409,
    mayHaveBeenSent: false,
    detail: 'There are {max} webhooks already.',
    hint: 'Delete one that is no longer needed.',
    example: { max: 64 },
  },
  test_in_progress: {
    status: 409,
    mayHaveBeenSent: false,
    detail: 'A test or a resent delivery of this webhook is still running.',
    hint: 'It ends within 10 seconds. Try again then.',
  },
} as const satisfies Record<string, ProblemText>;
