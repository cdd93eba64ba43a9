import { counted, spanOf } from '../../model/figures.ts';
import { isBehind, type StatusReport } from '../../model/status.ts';
import { verdictOf } from '../../model/verdict.ts';

/**
 * The programs that can show `menuText` in the Mac's menu bar. Only SwiftBar gets the parameter `sfimage`, because xbar
 * rejects a menu with an unknown parameter.
 */
export type MenuHost = 'swiftbar' | 'xbar';

export interface MenuOptions {
  /** Address of the service, as the user's browser reaches it, for example `http://127.0.0.1:3001`. */
  readonly url: string;
}

const TEXT_LIMIT_CHARACTERS = 80;
/** `plain` first cuts a text to this many UTF-16 units, and then replaces characters in it. */
const MAX_UNITS = 1000;
const WEBHOOKS_SHOWN = 5;

const PERMISSION_NAMES = { full_disk_access: 'Full Disk Access', automation: 'Automation of Messages' } as const;

/**
 * Returns the text for `?as=swiftbar|xbar` of the status: a title line, then a menu. The plugin's script adds its own
 * items below. Never contains a message's text.
 */
export function menuText(report: StatusReport, host: MenuHost, { url }: MenuOptions): string {
  const troubled = report.webhooks.filter(isBehind);
  const missing = report.permissions.filter(({ state }) => state === 'denied');
  const isConnected = report.backend.connected;
  const bad = (report.warnings ?? []).filter(({ tone: of }) => of === 'bad');
  const { text, tone } = verdictOf(report);
  const isFine = tone === 'good' && missing.length === 0;

  const lines = [
    title(isFine, host),
    '---',
    item(text, isFine ? undefined : 'red'),
    ...(isConnected ? [] : [item(report.backend.message ?? 'The Messages database cannot be read.', 'red')]),
    ...(isConnected && bad.length === 0 && report.backend.message !== null ? [item(report.backend.message)] : []),
    ...missing.map(({ name }) => item(`${PERMISSION_NAMES[name]} is missing`, 'red')),
    ...bad.flatMap(({ menu, title: short }) =>
      menu === undefined && short === text ? [] : item(menu ?? short, 'red'),
    ),
    item(lastEvent(report)),
    item(webhooks(report.webhooks), troubled.length > 0 ? 'red' : undefined),
    ...troubled
      .slice(0, WEBHOOKS_SHOWN)
      .map((webhook) => `--${item(`${webhook.name ?? webhook.origin} – ${webhook.last_error ?? 'no answer'}`)}`),
    ...(troubled.length > WEBHOOKS_SHOWN ? [`--${item(`and ${troubled.length - WEBHOOKS_SHOWN} more`)}`] : []),
    ...waiting(report.held_sends ?? 0, url),
    item(`Running, version ${report.version}, for ${spanOf(report.uptime_s)}`),
    '---',
    `Open documentation | href=${encodeURI(`${url}/docs`)}`,
  ];
  return `${lines.join('\n')}\n`;
}

function title(isFine: boolean, host: MenuHost): string {
  if (host === 'swiftbar') return `| sfimage=${isFine ? 'envelope' : 'exclamationmark.triangle'}`;
  return isFine ? 'Postern' : 'Postern !';
}

function item(text: string, color?: string): string {
  return `${plain(text)}${color === undefined ? '' : ` | color=${color}`}`;
}

/**
 * Turns foreign text into one harmless menu line. The result has no line breaks, no colours from escape sequences, no
 * parameters after a bar, no submenus or separators from leading dashes, and no `:emoji:`.
 */
function plain(text: string): string {
  const line = text
    .slice(0, MAX_UNITS)
    // biome-ignore lint/suspicious/noControlCharactersInRegex: the expression removes these characters
    .replace(/\u001b\[[0-9;]*[A-Za-z]/g, '')
    .replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu, ' ')
    .replaceAll('|', '¦')
    .replace(/:(?=[\w.+-]+:)/g, ': ')
    .replace(/^[\s-]+/, '')
    .replace(/\s+/g, ' ')
    .trim();
  const characters = [...line];
  return characters.length > TEXT_LIMIT_CHARACTERS
    ? `${characters.slice(0, TEXT_LIMIT_CHARACTERS - 1).join('')}…`
    : line || '–';
}

function lastEvent({ newest_event: { age_s: ageS } }: StatusReport): string {
  return ageS === null ? 'No events since Postern started' : `Last event ${spanOf(ageS)} ago`;
}

function webhooks(all: StatusReport['webhooks']): string {
  if (all.length === 0) return 'No webhooks';
  const states = (['failing', 'held', 'paused'] as const).flatMap((state) => {
    const count = all.filter((webhook) => webhook.state === state && webhook.paused_by !== 'receiver').length;
    return count === 0 ? [] : [`${count} ${state}`];
  });
  const gone = all.filter(({ paused_by: by }) => by === 'receiver').length;
  if (gone > 0) states.push(`${gone} paused by the receiver (410)`);
  return [counted(all.length, 'webhook'), ...states].join(', ');
}

/** Returns one line with the number of waiting sends. Their content and recipients would not fit. */
function waiting(count: number, url: string): readonly string[] {
  if (count === 0) return [];
  const what = count === 1 ? '1 send waits' : `${count} sends wait`;
  return [`${item(`${what} for your decision`)} | href=${encodeURI(`${url}/console`)}`];
}
