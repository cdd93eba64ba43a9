import { CHAT_DB, STATE_DB } from '../../core/http/openapi/operation.ts';
import type { ResourceDocument } from '../../core/http/resource.ts';
import type { ScheduledSend } from './scheduled.ts';
import { scheduledAnswerSchema, scheduledQuery, scheduledSchema } from './schema.ts';

/** A scheduled message of the owner. */
export const scheduledExample: ScheduledSend = {
  id: '5a1f8c1e-0d4c-4a52-9c0b-6c2a1f6d8e10',
  source: 'postern',
  key_id: 'owner',
  state: 'scheduled',
  to: '+15550100',
  text: 'Happy birthday!',
  attachments: [],
  send_at: '2026-02-01T08:00:00Z',
  send_until: '2026-02-01T09:00:00Z',
  created_at: '2026-01-31T09:30:00Z',
  ended_at: null,
  message_id: null,
  problem: null,
};

/** Scheduled messages in the documents of the API. */
export const DOCUMENT: ResourceDocument = {
  operations: {
    listScheduled: {
      tag: 'Messages',
      summary: 'Scheduled messages that are pending',
      description:
        'Sends with `send_at` that are pending or being sent, soonest first, and those that Messages itself will send later (`source` `phone`). ' +
        'With `state` the list also has sends that have ended, for 30 days. ' +
        'A limited key sees its own sends, and those of the phone in conversations that it may read.',
      query: scheduledQuery,
      answers: {
        200: {
          description: 'By time, at most 500: the soonest, or the latest of those that have ended.',
          schema: 'ScheduledSend',
          isList: true,
          example: [scheduledExample],
        },
      },
      problems: CHAT_DB,
      mistakes: [{ pointer: '?source', message: 'The parameter `source` must be "postern" or "phone".' }],
    },
    getScheduled: {
      tag: 'Messages',
      summary: 'One scheduled message and its outcome',
      description:
        'One scheduled message by the `id` from the 202 answer. ' +
        '`state` goes from `scheduled` to `sending`, then to `sent`, `failed` or `unknown`; or to `missed` or `cancelled`. ' +
        'After `sent`, `message_id` is the id of the message.',
      answers: { 200: { description: 'The message.', schema: 'ScheduledSend', example: scheduledExample } },
      problems: ['scheduled_not_found', ...CHAT_DB],
    },
    cancelScheduled: {
      tag: 'Messages',
      summary: 'Cancel a scheduled message, or learn that it is too late',
      description:
        'After a 204 the message is never sent. ' +
        'If it was handed to Messages, or has ended, the answer is 409 `too_late` with its state. ' +
        'To change a message, cancel it and schedule another one.',
      answers: { 204: { description: 'Cancelled.' } },
      problems: ['scheduled_not_found', 'too_late', 'scheduled_on_phone', ...CHAT_DB, ...STATE_DB],
    },
  },
  schemas: { ScheduledAnswer: scheduledAnswerSchema, ScheduledSend: scheduledSchema },
  deferred: {
    schema: scheduledAnswerSchema,
    example: { summary: 'Scheduled', value: { scheduled: scheduledExample } },
    problems: ['too_many_scheduled'],
  },
};
