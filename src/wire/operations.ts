import * as z from 'zod';
import type { Mistake } from '../domain/errors.ts';
import { CHANGE_EVENT_TYPES } from '../domain/event.ts';
import { namesOf, type ProblemName } from '../domain/problems.ts';
import { accessExamples } from './access-examples.ts';
import { ACCESS_OPERATIONS } from './access-operations.ts';
import { contactQuery } from './contacts.ts';
import { conversationQuery, singleConversationQuery } from './conversation.ts';
import { diagnosticsQuery } from './diagnostics.ts';
import { eventsQuery, streamQuery } from './event.ts';
import { examples } from './examples.ts';
import { INCLUDE_MISTAKE } from './include.ts';
import { messageQuery, sendBody, singleMessageQuery } from './message.ts';
import type { RouteId } from './routes.ts';
import { searchParameters } from './search.ts';
import { statusQuery } from './status.ts';
import { replayBody, WEBHOOK_EVENT_TYPES, webhookBody } from './webhook.ts';

/** What the OpenAPI document says of one operation, besides method, path and key, which are in `ROUTES`. */
export interface Operation {
  readonly tag:
    | 'Service'
    | 'Messages'
    | 'Conversations'
    | 'Contacts'
    | 'Events'
    | 'Webhooks'
    | 'Keys'
    | 'Approvals'
    | 'Agents';
  readonly summary: string;
  readonly description?: string;
  readonly query?: z.ZodObject;
  readonly headers?: readonly Readonly<Record<string, unknown>>[];
  readonly body?: { readonly schema: z.ZodType; readonly example: unknown };
  /** Success answers by status. */
  readonly answers: Readonly<Record<number, OperationAnswer>>;
  /** How it can be refused, besides what every operation, and every one with a key or a body, can answer. */
  readonly problems?: readonly ProblemName[];
  /** Examples of what can be wrong with the request. */
  readonly mistakes?: readonly Mistake[];
}

export interface OperationAnswer {
  readonly description: string;
  /** Name of a schema of the document. */
  readonly schema?: string;
  readonly isList?: boolean;
  readonly example?: unknown;
  /** Several, by name, in place of one. */
  readonly examples?: Readonly<Record<string, { readonly summary: string; readonly value: unknown }>>;
  /** Content type besides JSON, or in place of it. */
  readonly type?: string;
  /** Content types of answers that do not end. */
  readonly streams?: readonly string[];
  readonly headers?: Readonly<Record<string, string>>;
}

const NEXT = { Link: '`<…>; rel="next"` when there may be more.' };
const CHAT_DB = namesOf('chat_db_unavailable');
const MADE = { Location: 'URL of the new resource.' };
/** Of operations that write to state.db. */
const STATE_DB = ['disk_full', 'state_db_unavailable'] as const;
const RANGE = {
  name: 'Range',
  in: 'header',
  description: 'One range of bytes, as in `bytes=0-1023`.',
  schema: { type: 'string' },
};

/** Every operation, by its name in `ROUTES`. */
export const OPERATIONS = {
  getHealth: {
    tag: 'Service',
    summary: 'Whether chat.db can be read, and if not, why',
    answers: { 200: { description: 'The Health record.', schema: 'Health', example: examples.health } },
  },
  getStatus: {
    tag: 'Service',
    summary: 'Version, newest row and event, webhooks, permissions',
    query: statusQuery,
    answers: {
      200: { description: 'State of the service.', schema: 'Status', example: examples.status, type: 'text/plain' },
    },
    mistakes: [{ pointer: '?as', message: 'The parameter as must be swiftbar or xbar.' }],
  },
  checkPermissions: {
    tag: 'Service',
    summary: 'Check the permissions in the agent itself; macOS may show a dialog',
    answers: { 200: { description: 'The permissions.', schema: 'Permissions', example: examples.permissions } },
  },
  runDiagnostics: {
    tag: 'Service',
    summary: 'Watch chat.db and ask Messages, for a bug report',
    description:
      'What only the program with the permissions can find out: `postern doctor --mac-report` makes its report of it. ' +
      'No text, and no address but your own. A second request while one runs gets the same answer.',
    query: diagnosticsQuery,
    answers: {
      200: { description: 'What was found.', schema: 'Diagnostics', example: examples.diagnostics },
    },
    mistakes: [{ pointer: '?ask', message: 'The parameter ask must be messages.' }],
  },
  listMessages: {
    tag: 'Messages',
    summary: 'Messages, newest first',
    query: messageQuery,
    answers: {
      200: { description: 'One page.', schema: 'Message', isList: true, example: [examples.received], headers: NEXT },
    },
    problems: ['invalid_cursor', ...CHAT_DB],
    mistakes: [{ pointer: '?limit', message: 'The limit must be a whole number, 1 or more.' }, INCLUDE_MISTAKE],
  },
  searchMessages: {
    tag: 'Messages',
    summary: 'Full-text search, newest first',
    description:
      'Words mean AND, whatever their case and accents. Also `"a phrase"`, `begin*` (3 letters or more), `-without`, ' +
      '`from:` (address, `me` or name), `in:` (conversation id or name), `has:attachment`, `after:` and `before:` ' +
      '(YYYY-MM-DD, midnight UTC). Needs `search.enabled` in config.toml.',
    query: searchParameters,
    answers: {
      200: {
        description: 'One page.',
        schema: 'SearchHit',
        isList: true,
        example: [examples.searchHit],
        headers: {
          ...NEXT,
          'Postern-Search-Complete':
            '`false; from=<date>` while the index is being built: older messages cannot be found yet.',
        },
      },
    },
    problems: ['invalid_cursor', 'search_disabled', 'search_unavailable', ...CHAT_DB],
    mistakes: [
      { pointer: '?q', message: 'At character 8: the quotation mark is not closed.' },
      { pointer: '?limit', message: 'The limit must be a whole number, 1 or more.' },
    ],
  },
  sendMessage: {
    tag: 'Messages',
    summary: 'Send a message',
    description: 'Sends are strictly serial. Each part (the text, then each attachment) is handed to Messages in turn.',
    headers: [
      {
        name: 'Idempotency-Key',
        in: 'header',
        description: 'For 24 hours a repeat of the same key and body does not send again; it gets the stored outcome.',
        schema: { type: 'string', minLength: 1, maxLength: 255 },
      },
    ],
    body: { schema: sendBody, example: { recipient: '+15550100', body: 'On my way' } },
    answers: {
      200: { description: 'A dry run: what would happen.', schema: 'DryRun', example: accessExamples.dryRun },
      201: {
        description: 'Sent, and its row was found in chat.db.',
        schema: 'Message',
        example: examples.sent,
        headers: MADE,
      },
      202: {
        description: 'Handed to Messages and its row is not in chat.db yet; or held until the owner decides.',
        schema: 'AcceptedSend',
        example: examples.provisional,
      },
    },
    problems: [
      'recipient_not_allowed',
      'attachment_not_allowed',
      'send_denied',
      'already_decided',
      'approval_expired',
      'cap_reached',
      'too_many_held',
      'storage_full',
      'send_in_progress',
      'send_interrupted',
      'attachment_changed',
      'idempotency_key_reused',
      ...namesOf('send_failed'),
      ...namesOf('messages_unavailable'),
      'send_queue_full',
      ...STATE_DB,
      'shutting_down',
      'send_outcome_unknown',
    ],
    mistakes: [
      { pointer: '/recipient', message: 'The recipient must not be blank.' },
      { pointer: '/body', message: 'The body is missing.' },
    ],
  },
  getMessage: {
    tag: 'Messages',
    summary: 'One message',
    query: singleMessageQuery,
    answers: { 200: { description: 'The message.', schema: 'Message', example: examples.received } },
    problems: ['message_not_found', ...CHAT_DB],
    mistakes: [INCLUDE_MISTAKE],
  },
  getAttachment: {
    tag: 'Messages',
    summary: 'The bytes of an attachment, counted from 0; ranges work',
    headers: [RANGE],
    answers: {
      200: { description: 'The whole file, in its own type.', type: '*/*' },
      206: { description: 'The requested range.', type: '*/*' },
    },
    problems: ['attachment_not_found', 'range_not_satisfiable', ...CHAT_DB],
  },
  listConversations: {
    tag: 'Conversations',
    summary: 'Conversations, most recent first',
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
    problems: [...CHAT_DB],
    mistakes: [{ pointer: '?limit', message: 'The limit must be a whole number, 1 or more.' }, INCLUDE_MISTAKE],
  },
  getConversation: {
    tag: 'Conversations',
    summary: 'One conversation, by any variant of its id',
    query: singleConversationQuery,
    answers: { 200: { description: 'The conversation.', schema: 'Conversation', example: examples.conversation } },
    problems: ['conversation_not_found', ...CHAT_DB],
    mistakes: [INCLUDE_MISTAKE],
  },
  listContacts: {
    tag: 'Contacts',
    summary: 'People of the Address Book, by name',
    description: 'A send takes an address or a conversation id, never a name: choose one of the addresses.',
    query: contactQuery,
    answers: {
      200: { description: 'Those that match.', schema: 'Contact', isList: true, example: [examples.contact] },
    },
    problems: ['contacts_disabled'],
    mistakes: [{ pointer: '?limit', message: 'The limit must be a whole number, 1 or more.' }],
  },
  listEvents: {
    tag: 'Events',
    summary: 'Events after a row id or an offset, oldest first',
    description:
      'With `changes=true` also changes of messages that were there before, each event with its `offset`. `after` may ' +
      'then be missing: the answer is empty, and its `Link` has the present offset. With `wait` the answer comes as soon ' +
      'as there is an event.\n\nWith `Accept: text/event-stream` (Server-Sent Events) or `application/x-ndjson` alone ' +
      'the answer does not end: every event as it happens, after `after` or `Last-Event-ID`, or from now on.',
    query: eventsQuery,
    headers: [
      {
        name: 'Last-Event-ID',
        in: 'header',
        description: 'With Server-Sent Events: where to go on, in place of `after`.',
        schema: { type: 'string' },
      },
    ],
    answers: {
      200: {
        description: 'One page.',
        schema: 'AnyEvent',
        isList: true,
        examples: {
          rows: { summary: 'New rows', value: [examples.event] },
          changes: {
            summary: 'With changes=true',
            value: [
              { ...examples.event, offset: examples.offset },
              ...CHANGE_EVENT_TYPES.map((type) => examples.eventOf(type)),
            ],
          },
        },
        streams: ['text/event-stream', 'application/x-ndjson'],
        headers: { Link: '`<…>; rel="next"`, always; not with a stream.' },
      },
    },
    problems: ['changes_disabled', 'after_unknown', 'offset_expired', ...CHAT_DB],
    mistakes: [
      {
        pointer: '?after',
        message:
          'The parameter after must be a row id, a whole number of 0 or more, or an offset that the service gave.',
      },
      { pointer: '?changes', message: 'The parameter changes must be true or false.' },
      INCLUDE_MISTAKE,
    ],
  },
  openWebSocket: {
    tag: 'Events',
    summary: 'A WebSocket that is sent every event',
    description:
      'The key is a query parameter. With `after`, everything since that row id or offset comes first, without gap or ' +
      'repeat. With `changes=true` also changes of messages that were there before, and every event has its `offset`.',
    query: z.object({
      api_key: z.string().meta({ description: 'The key.' }),
      ...streamQuery.shape,
    }),
    answers: { 101: { description: 'Switched to WebSocket.' } },
    problems: [
      'bad_handshake',
      'changes_disabled',
      'after_unknown',
      'offset_expired',
      'upgrade_required',
      ...CHAT_DB,
      'shutting_down',
    ],
    mistakes: [INCLUDE_MISTAKE],
  },
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
  callMcp: {
    tag: 'Agents',
    summary: 'One message of the Model Context Protocol',
    description:
      'Streamable HTTP of both generations, 2026-07-28 and 2025-11-25, without sessions. For MCP clients: see docs/agents.md. ' +
      'Errors of the protocol are JSON-RPC errors; a tool that the key may not use is not there.',
    body: {
      schema: z.looseObject({ jsonrpc: z.literal('2.0'), method: z.string() }),
      example: { jsonrpc: '2.0', id: 1, method: 'tools/list' },
    },
    answers: {
      200: {
        description: 'The answer, or a stream of messages that ends with it.',
        type: 'application/json, text/event-stream',
      },
      202: { description: 'A notification was taken.' },
    },
    problems: ['owner_key_at_mcp', 'shutting_down'],
  },
  getMetrics: {
    tag: 'Service',
    summary: 'Metrics for Prometheus',
    answers: { 200: { description: 'The text format.', type: 'text/plain' } },
  },
  ...ACCESS_OPERATIONS,
} as const satisfies Record<RouteId, Operation>;
