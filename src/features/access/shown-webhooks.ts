import type {
  DeliveredRow,
  DeliveryRecord,
  DetailedDelivery,
  WebhookStatus,
  WebhookTestResult,
} from '../../core/model/webhook.ts';
import { type KeyRules, narrowed } from './narrowing.ts';

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
