import { AFTER_MISTAKE } from '../../schema/offset-parameter.ts';
import { examples } from '../openapi/examples.ts';
import { MADE, STATE_DB } from '../openapi/operation.ts';
import type { ResourceDocument } from '../resource.ts';
import { deliverySchema, webhookSchema, webhookStatusSchema, webhookTestSchema } from './answers.ts';
import {
  deliveriesQuery,
  replayBody,
  WEBHOOK_EVENT_TYPES,
  webhookBody,
  webhookChangesBody,
  webhooksQuery,
} from './schema.ts';

/** Problems of operations that set what a webhook posts, and where to. */
const NOT_ALLOWED = [
  'webhook_not_allowed',
  'webhook_to_postern',
  'webhook_headers_not_allowed',
  'webhook_user_not_allowed',
] as const;

/** Returns the answer that shows the webhook with its state and position. */
const state = (description: string) => ({ description, schema: 'WebhookStatus', example: examples.webhookStatus });

/** Webhooks in the documents of the API. */
export const DOCUMENT = {
  operations: {
    listWebhooks: {
      tag: 'Webhooks',
      summary: 'Registered webhooks',
      description:
        'Every webhook with its URL and the events it receives. ' +
        '`GET /webhooks/{id}` adds the settings, the state and the position of one; `include=status` adds them to the list.',
      query: webhooksQuery,
      answers: { 200: { description: 'All of them.', schema: 'Webhook', isList: true, example: [examples.webhook] } },
      mistakes: [{ pointer: '?include', message: 'The parameter `include` must be "status".' }],
    },
    registerWebhook: {
      tag: 'Webhooks',
      summary: 'Register a webhook',
      description:
        'From now on each event of these types is sent to the URL by POST, signed when there is a `secret`. ' +
        '`message.updated` and `message.removed` are changes of existing messages: with either, the webhook also receives `messages.changed`, and its events have an `offset`.',
      body: { schema: webhookBody, example: examples.registration },
      answers: { 201: { description: 'Registered.', schema: 'Webhook', example: examples.webhook, headers: MADE } },
      problems: [...NOT_ALLOWED, 'changes_disabled', 'too_many_webhooks', ...STATE_DB, 'shutting_down'],
      mistakes: [
        { pointer: '/url', message: '`url` must be a complete http or https address.' },
        { pointer: '/events/0', message: `An event must be one of ${WEBHOOK_EVENT_TYPES.join(', ')}.` },
      ],
    },
    getWebhook: {
      tag: 'Webhooks',
      summary: 'One webhook, its state and position',
      description:
        'Its settings, whether its receiver accepts deliveries, and how far it has got. ' +
        '`state` is `held` while one delivery is being repeated until it succeeds, and `behind` counts the events still to be delivered.',
      answers: { 200: state('The webhook.') },
      problems: ['webhook_not_found'],
    },
    changeWebhook: {
      tag: 'Webhooks',
      summary: 'Change a webhook; its position and history are kept',
      description:
        'Members that you omit stay unchanged. The next attempt uses the new settings. After a new `secret` the old one is ' +
        'valid for another 24 hours: both signatures are in `webhook-signature`. With `enabled: false` nothing is sent, ' +
        'and events that happen meanwhile are delivered later.',
      body: { schema: webhookChangesBody, example: { on_failure: 'hold', filter: { is_from_me: false } } },
      answers: {
        200: state('The webhook in its current state.'),
      },
      problems: [...NOT_ALLOWED, 'webhook_not_found', 'changes_disabled', ...STATE_DB, 'shutting_down'],
      mistakes: [
        {
          pointer: '/headers/Host',
          message: 'The header `Host` cannot be set, because Postern or the connection sets it.',
        },
        { pointer: '/filter/senders', message: '`senders` must have at least one item.' },
      ],
    },
    deleteWebhook: {
      tag: 'Webhooks',
      summary: 'Remove a webhook; nothing is sent after the answer',
      description:
        'Nothing is sent after the answer, and its position and history are gone. ' +
        'To pause it, set `enabled` to false instead.',
      answers: { 204: { description: 'Removed.' } },
      problems: ['webhook_not_found', ...STATE_DB],
    },
    listDeliveries: {
      tag: 'Webhooks',
      summary: 'The last 100 deliveries, newest first, without bodies',
      description:
        'What was sent and when, how many attempts it took, and what the receiver answered, newest first. ' +
        'Bodies are not kept: read the message by its `row_id`. `include=tries` adds up to ten attempts of each delivery, and ' +
        'puts a held delivery first. Attempts are kept only for recent deliveries, and only until the service stops.',
      query: deliveriesQuery,
      answers: { 200: { description: 'The records.', schema: 'Delivery', isList: true, example: [examples.delivery] } },
      problems: ['webhook_not_found'],
      mistakes: [{ pointer: '?include', message: 'The parameter `include` must be "tries".' }],
    },
    resendDelivery: {
      tag: 'Webhooks',
      summary: 'Send one finished delivery again',
      description:
        'Reads the event again and sends it once, immediately, under the same delivery id, and waits for the answer of the ' +
        'receiver. It does not move the position of the webhook. Changes and tests cannot be sent again.',
      answers: { 200: { description: 'The receiver’s answer.', schema: 'WebhookTest', example: examples.webhookTest } },
      problems: ['webhook_not_found', 'delivery_not_found', 'test_in_progress', 'shutting_down'],
    },
    testWebhook: {
      tag: 'Webhooks',
      summary: 'Send one `webhook.test` event and return the receiver’s response',
      description:
        'Sends `{"type": "webhook.test"}` once, signed like an event, and waits for the answer of the receiver. ' +
        'It is not retried, and it does not move the position of the webhook.',
      answers: { 200: { description: 'The receiver’s answer.', schema: 'WebhookTest', example: examples.webhookTest } },
      problems: ['webhook_not_found', 'test_in_progress', 'shutting_down'],
    },
    retryWebhook: {
      tag: 'Webhooks',
      summary: 'Attempt a held delivery now',
      description:
        'For a receiver that is back: the held delivery is attempted at once instead of at `next_attempt_at`. ' +
        'If no delivery is held, nothing happens.',
      answers: {
        202: state('The attempt begins.'),
      },
      problems: ['webhook_not_found'],
    },
    replayWebhook: {
      tag: 'Webhooks',
      summary: 'Redeliver everything after a position, or what was dropped',
      description:
        '`{"after": N}` goes back to a row id or an offset, `{"after": "latest"}` skips events that are not delivered yet. ' +
        '`{"dropped": true}` delivers the newest 10,000 dropped events, in the order of rows, before the next event.',
      body: { schema: replayBody, example: { after: 1200 } },
      answers: {
        202: state('Delivery continues from there.'),
      },
      problems: ['changes_disabled', 'webhook_not_found', 'offset_expired', ...STATE_DB],
      mistakes: [{ pointer: '/after', message: AFTER_MISTAKE }],
    },
  },
  schemas: {
    Delivery: deliverySchema,
    Replay: replayBody,
    Webhook: webhookSchema,
    WebhookChanges: webhookChangesBody,
    WebhookRegistration: webhookBody,
    WebhookStatus: webhookStatusSchema,
    WebhookTest: webhookTestSchema,
  },
} as const satisfies ResourceDocument;
