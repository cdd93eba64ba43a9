import type { WebhookEventType } from '../../domain/webhook.ts';
import { contentSchemas } from '../../schema/content-schema.ts';
import { messageDetailsSchema } from '../../schema/details-schema.ts';
import { streamQuery } from '../../schema/event-request.ts';
import { anyEventSchema, changeEventSchema, eventSchema } from '../../schema/event-schema.ts';
import { type Json, jsonSchema } from '../../schema/json-schema.ts';
import { messageSchema } from '../../schema/message-schema.ts';
import { reactionSchema } from '../../schema/reaction-schema.ts';
import { pathOf, ROUTES } from '../../schema/routes.ts';
import { WEBHOOK_EVENT_TYPES } from '../../schema/webhook-request.ts';
import { EVENT_OPERATIONS } from './event-operations.ts';
import { examples } from './examples.ts';

/** The schemas of events. */
const SCHEMAS = {
  ...contentSchemas,
  AnyEvent: anyEventSchema,
  ChangeEvent: changeEventSchema,
  Event: eventSchema,
  Message: messageSchema,
  MessageDetails: messageDetailsSchema,
  Reaction: reactionSchema,
} as const;

const HOST = '127.0.0.1:3001';
const STRING = { type: 'string' };

/** Headers of each delivery to a webhook. */
const WEBHOOK_HEADERS = {
  type: 'object',
  required: ['X-Webhook-Event', 'X-Webhook-Delivery', 'X-Webhook-Attempt'],
  properties: {
    'X-Webhook-Event': { ...STRING, description: 'The event type.' },
    'X-Webhook-Delivery': {
      ...STRING,
      description: 'The id of the delivery. It stays the same when the delivery is attempted or sent again.',
    },
    'X-Webhook-Attempt': { type: 'integer', minimum: 1 },
    'X-Webhook-Signature': { ...STRING, description: '`sha256=<hex>` of the body, if the webhook has a secret.' },
    'webhook-id': { ...STRING, description: 'This and the next two headers are for Standard Webhooks libraries.' },
    'webhook-timestamp': STRING,
    'webhook-signature': { ...STRING, description: 'Present if the webhook has a secret.' },
  },
};

/**
 * Returns the AsyncAPI 3 document of the WebSocket, the streams and the webhooks, made from the schemas of the OpenAPI
 * document.
 */
export function asyncApi(version: string): Json {
  return {
    asyncapi: '3.0.0',
    info: {
      title: 'Postern',
      version,
      description: [
        'New messages and reactions, as they happen: over a WebSocket, as a stream over plain HTTP, or to a webhook.',
        'Changes of existing messages are included on request. The rest of the API is in /openapi.json.',
      ].join('\n'),
      license: { name: 'MIT' },
    },
    defaultContentType: 'application/json',
    servers: {
      webSocket: {
        host: HOST,
        protocol: 'ws',
        description: 'The service, at its default address.',
        security: [{ $ref: '#/components/securitySchemes/query' }],
      },
      http: {
        host: HOST,
        protocol: 'http',
        description: 'The service, at its default address.',
        security: [{ $ref: '#/components/securitySchemes/header' }],
      },
    },
    channels: {
      webSocket: {
        address: pathOf(ROUTES.openWebSocket),
        title: 'WebSocket',
        description: EVENT_OPERATIONS.openWebSocket.description,
        servers: [{ $ref: '#/servers/webSocket' }],
        messages: references('event', WEBHOOK_EVENT_TYPES),
        bindings: { ws: { method: 'GET', query: jsonSchema(EVENT_OPERATIONS.openWebSocket.query) } },
      },
      stream: {
        address: pathOf(ROUTES.listEvents),
        title: 'Server-Sent Events and NDJSON',
        description:
          'With `Accept: text/event-stream`, `data` is the event and `id` its offset. A comment is sent every 15 s. ' +
          'With `Accept: application/x-ndjson` each event is one line.',
        servers: [{ $ref: '#/servers/http' }],
        messages: {
          ...references('event', WEBHOOK_EVENT_TYPES),
          position: { $ref: '#/components/messages/position' },
        },
      },
      webhook: {
        address: null,
        title: 'Webhook',
        description: 'The URL given to `POST /api/v1/webhooks`. Any 2xx answer within 10 s accepts the event.',
        messages: references('webhook', [...WEBHOOK_EVENT_TYPES, 'webhook.test']),
      },
    },
    operations: {
      sendToWebSocket: {
        action: 'send',
        channel: { $ref: '#/channels/webSocket' },
        summary: 'Every event, to a WebSocket',
      },
      sendToStream: {
        action: 'send',
        channel: { $ref: '#/channels/stream' },
        summary: 'Every event, in a response that stays open',
        bindings: { http: { method: 'GET', query: jsonSchema(streamQuery) } },
      },
      sendToWebhook: {
        action: 'send',
        channel: { $ref: '#/channels/webhook' },
        summary: 'Each event that the webhook subscribes to',
        bindings: { http: { method: 'POST' } },
      },
    },
    components: {
      messages: {
        ...Object.fromEntries(WEBHOOK_EVENT_TYPES.map((type) => [`event.${type}`, eventMessage(type)])),
        ...Object.fromEntries(
          WEBHOOK_EVENT_TYPES.map((type) => [`webhook.${type}`, { ...eventMessage(type), headers: WEBHOOK_HEADERS }]),
        ),
        'webhook.webhook.test': TEST,
        position: POSITION,
      },
      schemas: Object.fromEntries(Object.entries(SCHEMAS).map(([name, schema]) => [name, jsonSchema(schema, name)])),
      securitySchemes: {
        header: { type: 'httpApiKey', in: 'header', name: 'X-API-Key' },
        query: { type: 'httpApiKey', in: 'query', name: 'api_key' },
      },
    },
  };
}

const TEST = {
  name: 'webhook.test',
  summary: 'What `POST /webhooks/{id}/test` sends',
  headers: WEBHOOK_HEADERS,
  payload: {
    type: 'object',
    required: ['type', 'data'],
    properties: {
      type: { const: 'webhook.test' },
      data: { type: 'object', required: ['webhook_id'], properties: { webhook_id: STRING } },
    },
  },
  examples: [{ payload: { type: 'webhook.test', data: { webhook_id: examples.webhook.id } } }],
};

const POSITION = {
  name: 'position',
  summary: 'Only in NDJSON, every 15 s: the position to continue from, which also shows that the connection is alive',
  payload: { type: 'object', required: ['offset'], properties: { offset: STRING } },
  examples: [{ payload: { offset: '1204' } }],
};

function references(kind: 'event' | 'webhook', types: readonly string[]): Json {
  return Object.fromEntries(types.map((type) => [type, { $ref: `#/components/messages/${kind}.${type}` }]));
}

function eventMessage(type: WebhookEventType): Json {
  return {
    name: type,
    summary: SUMMARIES[type],
    payload: { allOf: [{ $ref: '#/components/schemas/AnyEvent' }, { properties: { type: { const: type } } }] },
    examples: [{ payload: examples.eventOf(type) }],
  };
}

const SUMMARIES: Readonly<Record<WebhookEventType, string>> = {
  'message.received': 'Somebody wrote',
  'message.sent': 'The owner wrote, on any device, or Postern sent it',
  'reaction.added': 'A reaction to a message',
  'reaction.removed': 'A reaction was taken back',
  'message.updated':
    'An existing message was edited, unsent, delivered or read, or failed; sent only if changes are requested',
  'message.removed': 'An existing message was deleted; sent only if changes are requested',
  'messages.changed': 'Many messages changed at once: read them again; sent only if changes are requested',
};
