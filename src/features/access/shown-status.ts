import type { StatusReport, StatusWarning, WebhookSummary } from '../../core/model/status.ts';
import { type KeyRules, narrowed, wholeDictionary } from './narrowing.ts';

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
  capabilities: wholeDictionary,
  warnings: (all, chats) =>
    all.filter(({ webhook }) => webhook === undefined || own.has(webhook)).map((one) => narrowed(one, WARNING, chats)),
});
