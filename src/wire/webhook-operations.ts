import { examples } from './examples.ts';
import { MADE, type Operation, STATE_DB } from './operation.ts';
import { replayBody, WEBHOOK_EVENT_TYPES, webhookBody } from './webhook.ts';

/** Webhooks and their deliveries. */
export const WEBHOOK_OPERATIONS = {
  listWebhooks: {
    tag: 'Webhooks',
    summary: 'Registered webhooks',
    answers: { 200: { description: 'All of them.', schema: 'Webhook', isList: true, example: [examples.webhook] } },
  },
  registerWebhook: {
    tag: 'Webhooks',
    summary: 'Register a webhook',
    description:
      '`message.updated` and `message.removed` are changes of messages that were there before. With either the webhook ' +
      'also gets `messages.changed`, and its events have an `offset`.',
    body: { schema: webhookBody, example: examples.registration },
    answers: { 201: { description: 'Registered.', schema: 'Webhook', example: examples.webhook, headers: MADE } },
    problems: ['webhook_not_allowed', 'changes_disabled', 'too_many_webhooks', ...STATE_DB, 'shutting_down'],
    mistakes: [
      { pointer: '/url', message: 'The url must be a complete http or https address.' },
      { pointer: '/events/0', message: `An event must be one of ${WEBHOOK_EVENT_TYPES.join(', ')}.` },
    ],
  },
  getWebhook: {
    tag: 'Webhooks',
    summary: 'One webhook, its state and position',
    answers: { 200: { description: 'The webhook.', schema: 'WebhookStatus', example: examples.webhookStatus } },
    problems: ['webhook_not_found'],
  },
  deleteWebhook: {
    tag: 'Webhooks',
    summary: 'Remove a webhook; nothing is sent after the answer',
    answers: { 204: { description: 'Removed.' } },
    problems: ['webhook_not_found', ...STATE_DB],
  },
  listDeliveries: {
    tag: 'Webhooks',
    summary: 'The last 100 deliveries, newest first, without bodies',
    answers: { 200: { description: 'The records.', schema: 'Delivery', isList: true, example: [examples.delivery] } },
    problems: ['webhook_not_found'],
  },
  testWebhook: {
    tag: 'Webhooks',
    summary: 'Send one `webhook.test` event and return the receiver’s response',
    answers: { 200: { description: 'What came back.', schema: 'WebhookTest', example: examples.webhookTest } },
    problems: ['webhook_not_found', 'test_in_progress', 'shutting_down'],
  },
  replayWebhook: {
    tag: 'Webhooks',
    summary: 'Redeliver everything after a row id or an offset',
    body: { schema: replayBody, example: { after: 1200 } },
    answers: {
      202: { description: 'Delivery continues from there.', schema: 'WebhookStatus', example: examples.webhookStatus },
    },
    problems: ['changes_disabled', 'webhook_not_found', 'offset_expired', ...STATE_DB],
    mistakes: [
      {
        pointer: '/after',
        message: '"after" must be a row id, a whole number of 0 or more, or an offset that the service gave.',
      },
    ],
  },
} as const satisfies Record<string, Operation>;
