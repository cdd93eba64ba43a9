import { number } from '../../../../core/model/figures.ts';

// The settings of config.toml in words.

export const SECTIONS: Readonly<Record<string, string>> = {
  server: 'Server',
  backend: 'Messages',
  canary: 'Messages',
  send: 'Sending',
  self: 'Sending',
  webhooks: 'Sending',
  mcp: 'Other programs',
  oauth: 'Other programs',
  bluebubbles: 'Other programs',
  search: 'Data',
  changes: 'Data',
  contacts: 'Data',
  fleet: 'Fleet',
};

const UNITS: Readonly<Record<string, string>> = { ms: 'ms', hours: 'h', days: 'days' };

export function settingValue(key: string, value: unknown): string {
  if (Array.isArray(value)) return value.map((one) => settingValue('', one)).join(', ') || 'none';
  if (value === null || value === '') return 'not set';
  if (typeof value === 'boolean') return value ? 'on' : 'off';
  const unit = UNITS[key.split('_').at(-1) ?? ''];
  if (typeof value === 'number' && unit !== undefined) return `${number(value)} ${unit}`;
  return typeof value === 'string' ? value : JSON.stringify(value);
}
