// The settings of config.toml in words.

import { number } from '../../service/words.ts';

export const SECTIONS: Readonly<Record<string, string>> = {
  server: 'Server',
  backend: 'Messages',
  canary: 'Messages',
  send: 'Sending',
  approval: 'Sending',
  webhooks: 'Sending',
  mcp: 'Other programs',
  oauth: 'Other programs',
  bluebubbles: 'Other programs',
  search: 'Data',
  changes: 'Data',
  contacts: 'Data',
  fleet: 'Fleet',
};

/** Names of settings whose keys do not say enough. */
const NAMES: Readonly<Record<string, string>> = {
  'server.host': 'Address',
  'server.socket': 'Unix socket',
  'server.rate_limit_per_minute': 'Requests a minute',
  'server.allowed_hosts': 'Host names',
  'server.allowed_origins': 'Web pages',
  'backend.chat_db_path': 'Messages database',
  'backend.poll_interval_ms': 'Check for messages every',
  'backend.osascript_path': 'Program that drives Messages',
  'backend.associated_rows': 'Messages of apps',
  'canary.self': 'Push canary',
  'send.confirm_ms': 'Wait for confirmation',
  'send.attachment_roots': 'Folders for attachments',
  'approval.self': 'Decide by tapback',
  'webhooks.allowed_hosts': 'Webhook hosts',
  'mcp.allow_owner_key': 'Your own key over MCP',
  'mcp.event_errors': 'Error numbers in MCP Events',
  'oauth.issuer': 'Address on the internet',
  'bluebubbles.port': 'BlueBubbles port',
  'bluebubbles.host': 'BlueBubbles address',
  'search.enabled': 'Search',
  'changes.enabled': 'Changes',
  'contacts.enabled': 'Names from Contacts',
  'contacts.address_book_path': 'Address Book',
  'fleet.file': 'File with the secret line',
  'fleet.machine': 'Name of this machine',
  'fleet.backfill_hours': 'Past messages for a new fleet',
};

export function settingName(key: string): string {
  const words = key.slice(key.indexOf('.') + 1).replaceAll('_', ' ');
  return NAMES[key] ?? words.charAt(0).toUpperCase() + words.slice(1);
}

const UNITS: Readonly<Record<string, string>> = { ms: 'ms', hours: 'h', days: 'days' };

export function settingValue(key: string, value: unknown): string {
  if (Array.isArray(value)) return value.map((one) => settingValue('', one)).join(', ') || 'none';
  if (value === null || value === '') return 'not set';
  if (typeof value === 'boolean') return value ? 'on' : 'off';
  const unit = UNITS[key.split('_').at(-1) ?? ''];
  if (typeof value === 'number' && unit !== undefined) return `${number(value)} ${unit}`;
  return typeof value === 'string' ? value : JSON.stringify(value);
}
