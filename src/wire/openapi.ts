import { z } from 'zod';
import { EVENT_TYPES } from '../domain/event.ts';
import { conversationQuery, conversationSchema } from './conversation.ts';
import { eventSchema } from './event.ts';
import { examples } from './examples.ts';
import { eventsQuery, permissionsSchema, replayBody, statusSchema } from './extras.ts';
import { healthSchema } from './health.ts';
import { messageQuery, messageSchema, sendBody } from './message.ts';
import { problemSchema } from './problem.ts';
import { deliverySchema, webhookBody, webhookSchema, webhookStatusSchema, webhookTestSchema } from './webhook.ts';

type Json = Readonly<Record<string, unknown>>;

const SCHEMAS = {
  Conversation: conversationSchema,
  Delivery: deliverySchema,
  Event: eventSchema,
  Health: healthSchema,
  Message: messageSchema,
  Permissions: permissionsSchema,
  Problem: problemSchema,
  Status: statusSchema,
  Webhook: webhookSchema,
  WebhookStatus: webhookStatusSchema,
  WebhookTest: webhookTestSchema,
} as const;
type SchemaName = keyof typeof SCHEMAS;

/** Every code a problem can have, by status (E2). */
const PROBLEMS: Readonly<Record<number, string>> = {
  400: 'Something in the request is wrong; `errors` names every mistake.',
  401: 'The key is missing or wrong.',
  403: 'The request came under a foreign host name or from a foreign web page.',
  404: 'There is no such thing.',
  409: 'It conflicts with what is there: too many webhooks, or a send with this Idempotency-Key is running or was interrupted.',
  410: 'That row id lies above every row there is.',
  413: 'The body is over 1 MiB.',
  415: 'The body is not JSON.',
  416: 'The range cannot be had.',
  422: 'The Idempotency-Key was used for another request.',
  426: 'This path speaks WebSocket only.',
  429: 'Too many requests in the running minute; `Retry-After` says how long to wait.',
  502: 'Messages refused to send; its error number is in `messages_error`.',
  503: 'chat.db cannot be read, Messages cannot be driven, or too many sends are waiting.',
  504: 'Nobody knows whether the message was sent: look before sending again.',
};

interface Operation {
  readonly id: string;
  readonly tag: 'Service' | 'Messages' | 'Conversations' | 'Events' | 'Webhooks';
  readonly summary: string;
  readonly description?: string;
  readonly isOpen?: boolean;
  readonly query?: z.ZodObject;
  readonly headers?: readonly Json[];
  readonly body?: { readonly schema: z.ZodType; readonly example: unknown };
  /** Success answers by status. */
  readonly answers: Readonly<Record<number, Answer>>;
  /** Problem statuses besides those that every operation may have. */
  readonly problems?: readonly number[];
}

interface Answer {
  readonly description: string;
  readonly schema?: SchemaName;
  readonly isList?: boolean;
  readonly example?: unknown;
  /** Content type when it is not JSON. */
  readonly type?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

const NEXT = { Link: '`<…>; rel="next"` when there may be more.' };
const MADE = { Location: 'Path of what was made.' };

/** Every operation, by path and method: what the document says, and what the test of the document walks through. */
export const OPERATIONS: Readonly<Record<string, Readonly<Record<string, Operation>>>> = {
  '/api/v1/health': {
    get: {
      id: 'getHealth',
      tag: 'Service',
      summary: 'Whether chat.db is open, and what is wrong if anything is',
      isOpen: true,
      answers: { 200: { description: 'The Health record.', schema: 'Health', example: examples.health } },
    },
  },
  '/api/v1/status': {
    get: {
      id: 'getStatus',
      tag: 'Service',
      summary: 'Version, newest row and event, webhooks, permissions',
      answers: { 200: { description: 'How the service is doing.', schema: 'Status', example: examples.status } },
    },
  },
  '/api/v1/permissions/check': {
    post: {
      id: 'checkPermissions',
      tag: 'Service',
      summary: 'Ask macOS anew, in the agent’s own name; it may ask the person',
      answers: { 200: { description: 'The permissions.', schema: 'Permissions', example: examples.permissions } },
    },
  },
  '/api/v1/messages': {
    get: {
      id: 'listMessages',
      tag: 'Messages',
      summary: 'Messages, newest first',
      query: messageQuery,
      answers: {
        200: { description: 'One page.', schema: 'Message', isList: true, example: [examples.received], headers: NEXT },
      },
      problems: [400, 503],
    },
    post: {
      id: 'sendMessage',
      tag: 'Messages',
      summary: 'Send a message',
      description:
        'Sends are strictly serial. Each part (the text, then each attachment) is handed to Messages in turn.',
      headers: [
        {
          name: 'Idempotency-Key',
          in: 'header',
          description: 'For 24 hours the same key and body never send twice; the stored outcome is given again.',
          schema: { type: 'string', minLength: 1, maxLength: 255 },
        },
      ],
      body: { schema: sendBody, example: { recipient: '+15550100', body: 'On my way' } },
      answers: {
        201: {
          description: 'Sent, and its row was found in chat.db.',
          schema: 'Message',
          example: examples.sent,
          headers: MADE,
        },
        202: {
          description: 'Handed to Messages; its row was not seen yet.',
          schema: 'Message',
          example: examples.provisional,
        },
      },
      problems: [400, 409, 413, 415, 422, 502, 503, 504],
    },
  },
  '/api/v1/messages/{id}': {
    get: {
      id: 'getMessage',
      tag: 'Messages',
      summary: 'One message',
      answers: { 200: { description: 'The message.', schema: 'Message', example: examples.received } },
      problems: [400, 404, 503],
    },
  },
  '/api/v1/messages/{id}/attachments/{n}': {
    get: {
      id: 'getAttachment',
      tag: 'Messages',
      summary: 'The bytes of an attachment, counted from 0; ranges work',
      answers: {
        200: { description: 'The whole file.', type: 'application/octet-stream' },
        206: { description: 'The asked range of it.', type: 'application/octet-stream' },
      },
      problems: [400, 404, 416, 503],
    },
  },
  '/api/v1/conversations': {
    get: {
      id: 'listConversations',
      tag: 'Conversations',
      summary: 'Conversations, the one with the newest message first',
      query: conversationQuery,
      answers: {
        200: {
          description: 'One page.',
          schema: 'Conversation',
          isList: true,
          example: [examples.conversation],
          headers: NEXT,
        },
      },
      problems: [400, 503],
    },
  },
  '/api/v1/conversations/{id}': {
    get: {
      id: 'getConversation',
      tag: 'Conversations',
      summary: 'One conversation, by any spelling of its id',
      answers: { 200: { description: 'The conversation.', schema: 'Conversation', example: examples.conversation } },
      problems: [400, 404, 503],
    },
  },
  '/api/v1/events': {
    get: {
      id: 'listEvents',
      tag: 'Events',
      summary: 'Events after a row id, in row id order',
      query: eventsQuery,
      answers: { 200: { description: 'One page.', schema: 'Event', isList: true, example: [examples.event] } },
      problems: [400, 410, 503],
    },
  },
  '/api/v1/ws': {
    get: {
      id: 'openWebSocket',
      tag: 'Events',
      summary: 'A WebSocket that is sent every event',
      description:
        'The key goes into the query. With `after` everything since that row id comes first, without gap or repeat.',
      query: z.object({
        api_key: z.string().meta({ description: 'The key.' }),
        after: z.string().optional().meta({ type: 'integer', minimum: 0, description: 'Row id to go on after.' }),
      }),
      isOpen: true,
      answers: { 101: { description: 'The connection is a WebSocket now.' } },
      problems: [400, 401, 410, 426, 503],
    },
  },
  '/api/v1/webhooks': {
    get: {
      id: 'listWebhooks',
      tag: 'Webhooks',
      summary: 'Registered webhooks',
      answers: { 200: { description: 'All of them.', schema: 'Webhook', isList: true, example: [examples.webhook] } },
    },
    post: {
      id: 'registerWebhook',
      tag: 'Webhooks',
      summary: 'Register a webhook',
      body: { schema: webhookBody, example: examples.registration },
      answers: { 201: { description: 'Registered.', schema: 'Webhook', example: examples.webhook, headers: MADE } },
      problems: [400, 409, 413, 415],
    },
  },
  '/api/v1/webhooks/{id}': {
    get: {
      id: 'getWebhook',
      tag: 'Webhooks',
      summary: 'One webhook, how it is doing and how far it is',
      answers: { 200: { description: 'The webhook.', schema: 'WebhookStatus', example: examples.webhookStatus } },
      problems: [404],
    },
    delete: {
      id: 'deleteWebhook',
      tag: 'Webhooks',
      summary: 'Remove a webhook; nothing is sent after the answer',
      answers: { 204: { description: 'Removed.' } },
      problems: [404],
    },
  },
  '/api/v1/webhooks/{id}/deliveries': {
    get: {
      id: 'listDeliveries',
      tag: 'Webhooks',
      summary: 'The last 100 deliveries, newest first, without bodies',
      answers: { 200: { description: 'The records.', schema: 'Delivery', isList: true, example: [examples.delivery] } },
      problems: [404],
    },
  },
  '/api/v1/webhooks/{id}/test': {
    post: {
      id: 'testWebhook',
      tag: 'Webhooks',
      summary: 'Send one `webhook.test` event and say what the receiver answered',
      answers: { 200: { description: 'What came back.', schema: 'WebhookTest', example: examples.webhookTest } },
      problems: [404],
    },
  },
  '/api/v1/webhooks/{id}/replay': {
    post: {
      id: 'replayWebhook',
      tag: 'Webhooks',
      summary: 'Deliver again everything after a row id',
      body: { schema: replayBody, example: { after: 1200 } },
      answers: {
        202: { description: 'It goes on from there.', schema: 'WebhookStatus', example: examples.webhookStatus },
      },
      problems: [400, 404],
    },
  },
  '/metrics': {
    get: {
      id: 'getMetrics',
      tag: 'Service',
      summary: 'Numbers for Prometheus',
      answers: { 200: { description: 'The text format.', type: 'text/plain' } },
    },
  },
};

/** The OpenAPI 3.1 document, made from the schemas that check the requests. */
export function openApi(version: string): Json {
  return {
    openapi: '3.1.1',
    info: {
      title: 'Postern',
      version,
      summary: 'A small back gate to Apple Messages',
      description: 'Messages as a REST API, a WebSocket and signed webhooks.',
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: '/', description: 'The service that this document comes from.' }],
    security: [{ key: [] }],
    tags: [
      { name: 'Service', description: 'The service itself' },
      { name: 'Messages', description: 'Reading and sending' },
      { name: 'Conversations', description: 'One-to-one and groups' },
      { name: 'Events', description: 'What happens, as it happens or later' },
      { name: 'Webhooks', description: 'Events delivered to you' },
    ],
    paths: Object.fromEntries(
      Object.entries(OPERATIONS).map(([path, methods]) => [
        path,
        Object.fromEntries(
          Object.entries(methods).map(([method, operation]) => [method, operationOf(path, operation)]),
        ),
      ]),
    ),
    webhooks: Object.fromEntries(EVENT_TYPES.map((type) => [type, { post: webhookOf(type) }])),
    components: {
      securitySchemes: { key: { type: 'apiKey', in: 'header', name: 'X-API-Key' } },
      schemas: Object.fromEntries(Object.entries(SCHEMAS).map(([name, schema]) => [name, jsonSchema(schema, name)])),
      responses: Object.fromEntries(
        Object.entries(PROBLEMS).map(([status, description]) => [
          `Problem${status}`,
          {
            description,
            content: { 'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } } },
          },
        ]),
      ),
    },
  };
}

function operationOf(path: string, operation: Operation): Json {
  const names = [...path.matchAll(/\{(\w+)\}/g)].map((match) => match[1]);
  const parameters = [
    ...names.map((name) => ({ name, in: 'path', required: true, schema: { type: 'string' } })),
    ...(operation.query === undefined ? [] : queryParameters(operation.query)),
    ...(operation.headers ?? []),
  ];
  const always = operation.isOpen === true ? [403, 429] : [401, 403, 429];
  const problems = [...new Set([...always, ...(operation.problems ?? [])])].sort((a, b) => a - b);
  return {
    operationId: operation.id,
    tags: [operation.tag],
    summary: operation.summary,
    ...(operation.description === undefined ? {} : { description: operation.description }),
    ...(operation.isOpen === true ? { security: [] } : {}),
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(operation.body === undefined
      ? {}
      : {
          requestBody: {
            required: true,
            content: {
              'application/json': { schema: jsonSchema(operation.body.schema), example: operation.body.example },
            },
          },
        }),
    responses: {
      ...Object.fromEntries(Object.entries(operation.answers).map(([status, answer]) => [status, answerOf(answer)])),
      ...Object.fromEntries(problems.map((status) => [status, { $ref: `#/components/responses/Problem${status}` }])),
    },
  };
}

function answerOf({ description, schema, isList, example, type, headers }: Answer): Json {
  const reference = { $ref: `#/components/schemas/${schema}` };
  const content =
    schema !== undefined
      ? { 'application/json': { schema: isList === true ? { type: 'array', items: reference } : reference, example } }
      : type !== undefined
        ? { [type]: { schema: { type: 'string' } } }
        : undefined;
  return {
    description,
    ...(headers === undefined
      ? {}
      : {
          headers: Object.fromEntries(
            Object.entries(headers).map(([name, text]) => [name, { description: text, schema: { type: 'string' } }]),
          ),
        }),
    ...(content === undefined ? {} : { content }),
  };
}

function webhookOf(type: string): Json {
  return {
    operationId: `on_${type.replace('.', '_')}`,
    tags: ['Webhooks'],
    summary: `Sent to every webhook that subscribed to ${type}`,
    security: [],
    parameters: [
      {
        name: 'X-Webhook-Delivery',
        in: 'header',
        required: true,
        description: 'The same on every repeat.',
        schema: { type: 'string' },
      },
      {
        name: 'X-Webhook-Signature',
        in: 'header',
        description: '`sha256=<hex>`, when there is a secret.',
        schema: { type: 'string' },
      },
    ],
    requestBody: {
      required: true,
      content: {
        'application/json': {
          schema: { $ref: '#/components/schemas/Event' },
          example: examples.eventOf(type as (typeof EVENT_TYPES)[number]),
        },
      },
    },
    responses: {
      '2XX': { description: 'Taken. Anything else is tried again.' },
      '4XX': { description: 'Tried again.' },
    },
  };
}

function queryParameters(schema: z.ZodObject): Json[] {
  const { properties = {}, required = [] } = jsonSchema(schema) as {
    properties?: Record<string, Json>;
    required?: string[];
  };
  return Object.entries(properties).map(([name, { description, ...property }]) => ({
    name,
    in: 'query',
    required: required.includes(name),
    ...(description === undefined ? {} : { description }),
    schema: property,
  }));
}

/** A schema as it looks from outside, with references to the shared ones. */
function jsonSchema(schema: z.ZodType, ownName?: string): Json {
  const made = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }) as Record<string, unknown>;
  const { $schema: _schema, $defs, id: _id, ...rest } = made;
  // A named schema may come as a reference to its own definition.
  const definitions = ($defs ?? {}) as Record<string, Json>;
  const isOwn = ownName !== undefined && rest.$ref === `#/$defs/${ownName}`;
  const own = isOwn ? definitions[ownName] : rest;
  return JSON.parse(
    JSON.stringify(own, (name, value: unknown) =>
      name === '$ref' && typeof value === 'string' ? value.replace('#/$defs/', '#/components/schemas/') : value,
    ),
  ) as Json;
}
