import type { Conversation } from '../../core/model/conversation.ts';
import type { LastMessage, MessageDetails, RepliedMessage } from '../../core/model/details.ts';
import type { Message } from '../../core/model/message.ts';
import type { Reaction, ReactionDetails } from '../../core/model/reaction.ts';
import type { StatusReport, StatusWarning, WebhookSummary } from '../../core/model/status.ts';
import type {
  DeliveredRow,
  DeliveryRecord,
  DetailedDelivery,
  WebhookStatus,
  WebhookTestResult,
} from '../../core/model/webhook.ts';
import { type KeyRules, narrowed } from './narrowing.ts';
import { type AddedRules, GROUP_EVENT, LOCATION_SHARE, shownContent } from './shown-content.ts';

// The members that a limited key sees of each object it may read. A member that is missing here does not compile.

/** For a dictionary, which has no members to place. */
const whole = <Value>(value: Value): Value => value;

/**
 * The rules of a message or a reaction. All receivers of an event share its text, so every member is shown but the parts
 * that a client includes, which events narrow.
 */
export type RowRules<Row> = KeyRules<Row> & { readonly [Name in Exclude<keyof Row, 'details' | 'names'>]: 'shown' };

/** What a limited key sees of messages and reactions, with the members that features add to their details. */
export interface ShownRows {
  readonly message: RowRules<Message>;
  readonly messageDetails: KeyRules<MessageDetails>;
  readonly reactionDetails: KeyRules<ReactionDetails>;
}

export function shownRows(added: AddedRules): ShownRows {
  const content = shownContent(added);
  const reactionDetails: KeyRules<ReactionDetails> = { ...content, sentence: 'shown', kind: 'shown' };
  const reaction = reactionWith(reactionDetails);
  const messageDetails: KeyRules<MessageDetails> = {
    ...content,
    service: 'shown',
    kind: 'shown',
    reply_to_guid: 'shown',
    sentence: 'shown',
    reply_to: (quoted, chats) => (chats.hasMessage(quoted.id) ? narrowed(quoted, REPLIED, chats) : null),
    edited_at: 'shown',
    retracted_at: 'shown',
    delivered_at: 'shown',
    read_at: 'shown',
    error: 'shown',
    attachments: { ...ATTACHMENT, ...added.file },
    reactions: (all, chats) => chats.rows(all, (one) => one).map((one) => narrowed(one, reaction, chats)),
    // Only the owner sees which key sent a message.
    origin: { by: 'shown', request_id: 'shown', idempotency_key: 'shown', key_id: 'hidden' },
    service_used: 'shown',
    service_reason: 'shown',
    part_of: (text, chats) => (chats.hasMessage(text.id) ? narrowed(text, NAMED, chats) : undefined),
    mirror: 'shown',
    late: 'shown',
    twin_of: (twin, chats) => (chats.hasMessage(twin.id) ? narrowed(twin, NAMED, chats) : undefined),
    filter: { action: 'shown', code: 'shown', sub_code: 'shown' },
  };
  return { message: messageWith(messageDetails), messageDetails, reactionDetails };
}

const NAMED = { id: 'shown', guid: 'shown' } as const;
const REPLIED: KeyRules<RepliedMessage> = { ...NAMED, sender: 'shown', body: 'shown' };

const ATTACHMENT = {
  n: 'shown',
  name: 'shown',
  mime_type: 'shown',
  folder: 'shown',
  bytes: 'shown',
  transfer: 'shown',
  state: 'shown',
  path: 'shown',
  guid: 'shown',
  transcript: 'shown',
  width: 'shown',
  height: 'shown',
} as const;

const reactionWith = (details: KeyRules<ReactionDetails>): RowRules<Reaction> => ({
  id: 'shown',
  guid: 'shown',
  conversation_id: 'shown',
  sender: 'shown',
  is_from_me: 'shown',
  reaction_type: 'shown',
  emoji: 'shown',
  message_id: 'shown',
  message_guid: 'shown',
  timestamp: 'shown',
  associated_message_type: 'shown',
  part: 'shown',
  balloon: 'shown',
  details_left_out: 'shown',
  details,
  // Names come from the key's own lookup.
  names: whole,
});

const messageWith = (details: KeyRules<MessageDetails>): RowRules<Message> => ({
  id: 'shown',
  guid: 'shown',
  conversation_id: 'shown',
  sender: 'shown',
  body: 'shown',
  attachments: 'shown',
  timestamp: 'shown',
  is_from_me: 'shown',
  status: 'shown',
  details_left_out: 'shown',
  details,
  names: whole,
});

const LAST_MESSAGE: KeyRules<LastMessage> = {
  id: 'shown',
  sender: 'shown',
  is_from_me: 'shown',
  status: 'shown',
  body: 'shown',
  sentence: 'shown',
  group_event: GROUP_EVENT,
  location_share: LOCATION_SHARE,
  timestamp: 'shown',
};

export const CONVERSATION: KeyRules<Conversation> = {
  id: 'shown',
  display_name: 'shown',
  participants: 'shown',
  last_message_at: 'shown',
  details: {
    chat_number: 'shown',
    other_ids: 'shown',
    unread_count: 'shown',
    is_group: 'shown',
    service: 'shown',
    filter: 'shown',
    last_message: (last, chats) => (chats.hasMessage(last.id) ? narrowed(last, LAST_MESSAGE, chats) : null),
  },
  names: whole,
};

/** Selects what a limited key sees of the state of its own webhook. */
export const WEBHOOK_STATUS: KeyRules<WebhookStatus> = {
  name: 'shown',
  enabled: 'shown',
  on_failure: 'shown',
  filter: {
    conversation_ids: 'shown',
    senders: 'shown',
    is_from_me: 'shown',
    max_age_s: 'shown',
    junk: 'shown',
    include_hidden: 'shown',
  },
  include: 'shown',
  has_secret: 'shown',
  previous_secret_until: 'shown',
  header_names: 'shown',
  state: 'shown',
  consecutive_failures: 'shown',
  last_success_at: 'shown',
  held: {
    id: 'shown',
    row_id: 'shown',
    attempts: 'shown',
    since: 'shown',
    error: 'shown',
    retry_after: 'shown',
    gone: 'shown',
  },
  next_attempt_at: 'shown',
  dropped: 'shown',
  row_id: 'shown',
  behind: 'shown',
};

/** Selects what a limited key sees of an ended delivery of its webhook. */
export const DELIVERY_RECORD = {
  id: 'shown',
  at: 'shown',
  event: 'shown',
  row_id: 'shown',
  outcome: 'shown',
  attempts: 'shown',
  status: 'shown',
  error: 'shown',
  duration_ms: 'shown',
} as const satisfies KeyRules<DeliveryRecord>;

const DELIVERED: KeyRules<DeliveredRow> = { id: 'shown', conversation_id: 'shown', text: 'shown' };

/**
 * Selects what a limited key sees of a delivery of its webhook. Not the answer: the receiver can be any program on
 * this machine, and the key must not read its output.
 */
export const DELIVERY: KeyRules<DetailedDelivery> = {
  ...DELIVERY_RECORD,
  redelivered_at: 'shown',
  message: (row, chats) => (chats.hasMessage(row.id) ? narrowed(row, DELIVERED, chats) : null),
  tries: { at: 'shown', status: 'shown', error: 'shown', duration_ms: 'shown' },
  answer: 'hidden',
};

/** Selects what a limited key sees of a test of its webhook, for the same reason without the answer. */
export const TEST_RESULT: KeyRules<WebhookTestResult> = {
  id: 'shown',
  delivered: 'shown',
  status: 'shown',
  error: 'shown',
  duration_ms: 'shown',
  answer: () => null,
};

const WEBHOOK: KeyRules<WebhookSummary> = {
  id: 'shown',
  name: 'shown',
  origin: 'shown',
  state: 'shown',
  consecutive_failures: 'shown',
  last_success_at: 'shown',
  last_outcome: 'shown',
  last_error: 'shown',
  paused_by: 'shown',
  dropped: 'shown',
};
const WARNING: KeyRules<StatusWarning> = {
  code: 'shown',
  text: 'shown',
  tone: 'shown',
  title: 'shown',
  clause: 'shown',
  menu: 'shown',
  webhook: 'shown',
};

/** Selects what a limited key with these webhooks sees of the status. */
export const statusRules = (own: ReadonlySet<string>): KeyRules<StatusReport> => ({
  version: 'shown',
  demo: 'shown',
  url: 'shown',
  cli: 'hidden',
  uptime_s: 'shown',
  backend: { connected: 'shown', message: 'shown' },
  newest_row: 'shown',
  newest_event: { row_id: 'shown', age_s: 'shown', offset: 'shown', earlier: 'shown' },
  operations: 'shown',
  macs: 'hidden',
  webhooks: (all, chats) => all.filter(({ id }) => own.has(id)).map((one) => narrowed(one, WEBHOOK, chats)),
  held_sends: 'hidden',
  permissions: { name: 'shown', state: 'shown', detail: 'shown', reason: 'shown' },
  messages: { answer_ms: 'shown', checked_at: 'shown' },
  messages_account: { state: 'shown', checked_at: 'shown' },
  arrival_delay: { median_s: 'shown', max_s: 'shown', messages: 'shown' },
  problems: 'hidden',
  capabilities: whole,
  warnings: (all, chats) =>
    all.filter(({ webhook }) => webhook === undefined || own.has(webhook)).map((one) => narrowed(one, WARNING, chats)),
});
