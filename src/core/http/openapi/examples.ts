import type { Conversation } from '../../model/conversation.ts';
import type { ChangeEvent, Event } from '../../model/event.ts';
import type { Message } from '../../model/message.ts';
import { encodeOffset } from '../../model/offset.ts';
import type { Reaction } from '../../model/reaction.ts';
import type { PermissionsAnswer } from '../../model/status.ts';
import type { WebhookEventType } from '../../model/webhook.ts';

const received: Message = {
  id: '1204',
  guid: '6C9AF6F1-5D6C-4A0E-8C7B-2B4E0B1D9F55',
  conversation_id: 'any;-;+15550100',
  sender: '+15550100',
  body: 'Are you there yet?',
  attachments: [],
  timestamp: '2026-01-31T09:30:00Z',
  is_from_me: false,
  status: 'delivered',
};
const sent: Message = {
  ...received,
  id: '1205',
  guid: 'E5C0E2C8-1F0B-4D61-A8E5-07F1C1E1B6A2',
  sender: 'me@example.com',
  body: 'On my way',
  timestamp: '2026-01-31T09:30:07Z',
  is_from_me: true,
  status: 'sent',
};
const reaction: Reaction = {
  id: '1206',
  guid: '0B6A9F0E-8E2B-4F0A-9C55-4B7C6C3B2D10',
  conversation_id: 'any;-;+15550100',
  sender: '+15550100',
  is_from_me: false,
  reaction_type: 'love',
  emoji: null,
  message_id: '1205',
  message_guid: sent.guid,
  part: 0,
  timestamp: '2026-01-31T09:30:12Z',
  associated_message_type: 2000,
};
const conversation: Conversation = {
  id: 'any;-;+15550100',
  display_name: null,
  participants: ['+15550100'],
  last_message_at: '2026-01-31T09:30:12Z',
};
const webhook = {
  id: '4d1f0a5e-0c5f-4a0c-9a39-3a1f6f0f2c11',
  url: 'https://example.net/hook',
  events: ['message.received', 'reaction.added'],
  created_at: '2026-01-30T18:00:00Z',
};
const permissions: PermissionsAnswer = {
  permissions: [
    { name: 'full_disk_access', state: 'granted', detail: 'Postern can read the messages database.' },
    { name: 'automation', state: 'granted', detail: 'Postern is allowed to control Messages.' },
  ],
};

const offsetOf = (change: number): string => encodeOffset({ rowId: 1206, change }, 1);

function eventOf(type: WebhookEventType): (Event | ChangeEvent) & { readonly offset?: string } {
  switch (type) {
    case 'message.received':
      return { type, data: received };
    case 'message.sent':
      return { type, data: sent };
    case 'reaction.added':
      return { type, data: reaction };
    case 'reaction.removed':
      return { type, data: { ...reaction, id: '1207', associated_message_type: 3000 } };
    case 'message.updated':
      return { type, data: { ...received, body: 'Are you here yet?' }, changes: ['edited'], offset: offsetOf(17) };
    case 'message.removed': {
      const { id, guid, conversation_id } = received;
      return { type, data: { id, guid, conversation_id }, offset: offsetOf(18) };
    }
    default:
      return { type, data: { first_id: '12', last_id: '1204', count: 1068 }, offset: offsetOf(19) };
  }
}

/** Example values of every schema for the documentation, as the simulated Mac produces them. */
export const examples = {
  listedAttachment: {
    message_id: '1205',
    n: 0,
    sender: '+15550100',
    is_from_me: false,
    timestamp: '2026-01-31T09:30:00Z',
    name: 'photo.jpg',
    mime_type: 'image/jpeg',
    bytes: 204_800,
    transfer: 'finished',
    state: 'available',
    path: '/Users/me/Library/Messages/Attachments/ab/11/photo.jpg',
  },
  health: { status: 'ok', backend: { connected: true, message: null } },
  received,
  sent,
  provisional: { ...sent, id: '', guid: '', conversation_id: '', sender: 'me', status: 'pending' },
  conversation,
  event: eventOf('message.received'),
  offset: offsetOf(16),
  eventOf,
  webhook,
  registration: { url: webhook.url, events: webhook.events, secret: 'whsec_uGWz02LHNIPwDShnumc3R7d0su3RIiTP' },
  webhookStatus: {
    ...webhook,
    name: 'n8n',
    enabled: true,
    on_failure: 'hold',
    filter: { is_from_me: false },
    include: [],
    has_secret: true,
    previous_secret_until: null,
    header_names: ['Authorization'],
    held: null,
    dropped: 0,
    state: 'healthy',
    consecutive_failures: 0,
    last_success_at: '2026-01-31T09:30:13Z',
    row_id: 1206,
    behind: 0,
  },
  webhookTest: {
    id: '7d9f8c6e-3c62-5b1f-8b7e-0f4e3b2a1c00',
    delivered: true,
    status: 204,
    error: null,
    duration_ms: 12,
    answer: null,
  },
  delivery: {
    id: '2f1e0d3c-4b5a-5697-8877-665544332211',
    at: '2026-01-31T09:30:13Z',
    event: 'reaction.added',
    row_id: 1206,
    outcome: 'delivered',
    attempts: 1,
    status: 204,
    error: null,
    duration_ms: 9,
  },
  permissions,
  status: {
    version: '0.1.0',
    uptime_s: 86_400,
    backend: { connected: true, message: null },
    newest_row: 1206,
    newest_event: { row_id: 1206, age_s: 3 },
    webhooks: [
      {
        id: webhook.id,
        origin: 'https://example.net',
        state: 'healthy',
        consecutive_failures: 0,
        last_success_at: '2026-01-31T09:30:13Z',
        last_outcome: 'delivered',
        last_error: null,
      },
    ],
    ...permissions,
    messages: { answer_ms: 240, checked_at: '2026-01-31T09:30:12Z' },
    problems: [
      {
        code: 'webhook_held',
        since: '2026-01-31T08:10:00Z',
        until: '2026-01-31T08:40:00Z',
        subject: 'https://example.net',
        hint: '503 Service Unavailable',
      },
    ],
    capabilities: {
      send: { available: true },
      format: { available: true },
      react: { available: false, reason: 'not_scriptable' },
      read_junk_filter: { available: false, reason: 'macos_too_old' },
    },
  },
  config: {
    settings: [
      {
        key: 'server.port',
        title: 'Port',
        value: 3001,
        default: 3001,
        is_default: true,
        needs_restart: true,
        description: 'The TCP port of the HTTP server. 0 takes any free one; the log says which.',
      },
    ],
  },
  dryRun: { would: 'hold', to: '+15550100', members: ['+15550100'], text: 'On my way' },
} as const;
