import { readFileSync } from 'node:fs';
import {
  isPosternError,
  type NewWebhookOptions,
  type PosternClient,
  type WebhookEdits,
} from '../../client/postern-client.ts';
import { EXIT } from '../../core/cli/context.ts';
import { oneLine } from '../../core/cli/output/text.ts';
import { shownTime } from '../../core/cli/output/time.ts';
import { conversationIdOf, senderAddressesOf } from '../../core/cli/recipient.ts';
import { Refusal, type Served } from '../../core/cli/service-connection.ts';
import { errorCode } from '../../core/model/errors.ts';
import { ROW_EVENT_TYPES } from '../../core/model/event.ts';
import type { Include } from '../../core/model/include.ts';
import { isOnLocalNetwork } from '../../core/model/local-network.ts';
import type { FailureMode, Webhook, WebhookEventType, WebhookFilter, WebhookStatus } from '../../core/model/webhook.ts';
import { systemClock } from '../../core/runtime/clock.ts';
import { webhookOf } from './webhooks-commands.ts';

export interface FilterOptions {
  readonly conversation?: readonly string[];
  readonly sender?: readonly string[];
  readonly from?: 'me' | 'others';
  /** Seconds that a message may take to arrive. Slower messages are skipped. */
  readonly maxAge?: number;
  /** False with --no-junk. */
  readonly junk?: boolean;
}

/** Settings given as options. Secrets and header values come from files, because process lists show arguments. */
interface SettingsOptions extends FilterOptions {
  readonly event?: readonly WebhookEventType[];
  readonly secretFile?: string;
  readonly headersFile?: string;
  readonly onFailure?: FailureMode;
  readonly include?: readonly Include[];
}

interface AddOptions extends SettingsOptions {
  readonly name?: string;
  readonly paused?: boolean;
}

interface EditOptions extends SettingsOptions {
  readonly to?: string;
  /** False with --no-name. In the same way, --no-secret and --no-filter set `secret` and `filter` to false. */
  readonly name?: string | boolean;
  readonly secret?: boolean;
  readonly filter?: boolean;
  readonly removeHeader?: readonly string[];
}

export async function addWebhook(url: string, options: AddOptions, service: Served): Promise<void> {
  const { client, environment } = service;
  const { name, paused } = options;
  const { meant, ...settings } = await settingsOf(client, options);
  const webhook = await client.addWebhook({
    ...settings,
    url,
    events: options.event ?? ROW_EVENT_TYPES,
    ...(name !== undefined && { name }),
    ...(paused === true && { enabled: false }),
  });
  const begins =
    paused === true
      ? service.copyable(`To start deliveries: \`postern webhooks resume ${webhook.id.slice(0, 8)}\``)
      : 'It receives events from now on.';
  service.answer(webhook, `Webhook ${webhook.id} registered. ${begins}`, ...meant);
  if (environment.platform === 'darwin' && paused !== true && isOnLocalNetwork(url)) {
    await tryLocalNetwork(webhook.id, service);
  }
}

/**
 * Sends a test event at once, because the first connection makes macOS ask about the local network, and the user is now
 * at the screen to answer.
 */
async function tryLocalNetwork(id: string, { client, stderr }: Served): Promise<void> {
  stderr(
    'The receiver is in your own network, so Postern sends it a test event now. If macOS asks for permission, click Allow.',
  );
  try {
    const { delivered, error } = await client.testWebhook(id);
    stderr(delivered ? 'It arrived.' : `It did not arrive: ${error ?? 'the receiver refused it.'}`);
  } catch (error) {
    // The webhook is registered, and its answer printed.
    if (!isPosternError(error)) throw error;
    stderr(`It was not sent: ${oneLine(error.message)}`);
  }
}

export async function editWebhook(given: string, options: EditOptions, { client, answer }: Served): Promise<void> {
  const { to, event, name, secret, filter, removeHeader = [] } = options;
  const { meant, ...settings } = await settingsOf(client, options);
  const removed = Object.fromEntries(removeHeader.map((header) => [header, null]));
  const changes: WebhookEdits = {
    ...settings,
    ...(to !== undefined && { url: to }),
    ...(event !== undefined && { events: event }),
    ...(typeof name === 'string' && { name }),
    ...(name === false && { name: null }),
    ...(secret === false && { secret: null }),
    ...(filter === false && { filter: null }),
    ...(removeHeader.length > 0 && { headers: { ...settings.headers, ...removed } }),
  };
  if (Object.keys(changes).length === 0) {
    throw new Refusal(
      EXIT.usage,
      'There is nothing to change.',
      'postern webhooks edit --help lists what can be changed.',
    );
  }
  const { id } = await webhookOf(client, given);
  // The API replaces the whole filter, so the existing conditions are sent again with the new ones. --no-filter drops
  // the existing ones.
  const before = filter === false ? null : (await client.webhook(id)).filter;
  const filters = settings.filter && { filter: { ...before, ...settings.filter } };
  const webhook = await client.changeWebhook(id, { ...changes, ...filters });
  const until = webhook.previous_secret_until;
  const rotated =
    typeof changes.secret === 'string' && until !== null ? ` The previous secret also signs until ${until}.` : '';
  answer(webhook, `Webhook ${id} changed.${rotated}`, ...meant);
}

export async function pauseWebhook(
  change: 'pause' | 'resume',
  given: string,
  _options: object,
  { client, answer }: Served,
): Promise<void> {
  const { id } = await webhookOf(client, given);
  const webhook = await client.changeWebhook(id, { enabled: change === 'resume' });
  const sentence =
    change === 'pause'
      ? `Webhook ${id} paused. When resumed, it continues after row ${webhook.row_id}.`
      : `Webhook ${id} resumed. ${webhook.behind === 0 ? 'It missed nothing.' : `It continues after row ${webhook.row_id}.`}`;
  answer(webhook, sentence);
}

export async function showWebhook(
  given: string,
  _options: object,
  { client, answer, copyable }: Served,
): Promise<void> {
  const webhook = await client.webhook((await webhookOf(client, given)).id);
  answer(webhook, ...linesOf(webhook, copyable));
}

function linesOf(webhook: Webhook & WebhookStatus, copyable: Served['copyable']): readonly string[] {
  const { held, dropped, behind, filter, previous_secret_until: until, header_names: headers } = webhook;
  const { next_attempt_at: next } = webhook;
  const line = (name: string, text: string): string => `${name.padEnd(12)}${oneLine(text)}`;
  const redeliver = `\`postern webhooks replay ${webhook.id.slice(0, 8)} --dropped\``;
  const resume = `\`postern webhooks resume ${webhook.id.slice(0, 8)}\``;
  return [
    line('Webhook', webhook.id),
    ...(webhook.name === null ? [] : [line('Name', webhook.name)]),
    line('URL', webhook.url),
    line('Events', webhook.events.join(', ')),
    ...(filter === null ? [] : [line('Only', filterText(filter))]),
    ...(webhook.include.length === 0 ? [] : [line('Includes', webhook.include.join(', '))]),
    line(
      'Signature',
      webhook.has_secret ? `yes${until === null ? '' : `, also by the previous secret until ${until}`}` : 'no',
    ),
    ...(headers.length === 0 ? [] : [line('Headers', headers.join(', '))]),
    line('On failure', webhook.on_failure === 'hold' ? 'hold, and retry until it succeeds' : 'drop after 3 attempts'),
    line('State', webhook.state),
    ...(webhook.enabled || held?.gone !== true
      ? []
      : [line('', `the receiver answered 410; to continue: ${copyable(resume)}`)]),
    ...(held === null
      ? []
      : [
          line('', `row ${held.row_id} since ${held.since}, ${held.attempts} attempts: ${held.error}`),
          ...(next === undefined ? [] : [line('', `next attempt at ${shownTime(next, systemClock.now())}`)]),
        ]),
    line('Position', `row ${webhook.row_id}, ${behind === 0 ? 'nothing is waiting' : `${behind} behind`}`),
    ...(dropped === 0 ? [] : [line('Dropped', `${dropped}; to deliver them again: ${copyable(redeliver)}`)]),
  ];
}

function filterText(filter: WebhookFilter): string {
  const { conversation_ids: ids = [], senders = [], is_from_me: isOwn, max_age_s: maxAgeS, junk } = filter;
  return [
    ...ids,
    ...senders.map((sender) => `by ${sender}`),
    ...(isOwn === undefined ? [] : [isOwn ? 'own messages' : 'messages of others']),
    ...(maxAgeS === undefined ? [] : [`messages that arrived at most ${maxAgeS} s after they were written`]),
    ...(junk === false ? ['no junk'] : []),
  ].join(', ');
}

/** Returns the settings for which an option was given. */
async function settingsOf(
  client: PosternClient,
  options: SettingsOptions,
): Promise<Omit<NewWebhookOptions, 'url' | 'events' | 'name' | 'enabled'> & Pick<ResolvedFilter, 'meant'>> {
  const { secretFile, headersFile, onFailure, include } = options;
  const { filter, meant } = await filterOf(client, options);
  return {
    ...(secretFile !== undefined && { secret: secretIn(secretFile) }),
    ...(headersFile !== undefined && { headers: headersIn(headersFile) }),
    ...(onFailure !== undefined && { on_failure: onFailure }),
    ...(include !== undefined && { include }),
    ...(filter !== undefined && { filter }),
    meant,
  };
}

interface ResolvedFilter {
  /** Undefined if no option sets a condition. */
  readonly filter: WebhookFilter | undefined;
  /**
   * Sentences such as `Ana is +15550100.`: one for each given name or address that was replaced by an id or by other
   * addresses.
   */
  readonly meant: readonly string[];
}

/** Resolves the names in a filter. Throws a Refusal for a name that is unknown or ambiguous. */
export async function filterOf(
  client: PosternClient,
  { conversation, sender, from, maxAge, junk }: FilterOptions,
): Promise<ResolvedFilter> {
  const ids = await resolved(conversation, async (given) => [await conversationIdOf(client, given)]);
  const senders = await resolved(sender, (given) => senderAddressesOf(client, given));
  const filter = {
    ...(conversation !== undefined && { conversation_ids: ids.found }),
    ...(sender !== undefined && { senders: senders.found }),
    ...(from !== undefined && { is_from_me: from === 'me' }),
    ...(maxAge !== undefined && { max_age_s: maxAge }),
    ...(junk === false && { junk }),
  };
  return {
    filter: Object.keys(filter).length === 0 ? undefined : filter,
    meant: [...ids.meant, ...senders.meant],
  };
}

async function resolved(
  all: readonly string[] | undefined,
  resolve: (given: string) => Promise<readonly string[]>,
): Promise<{ readonly found: readonly string[]; readonly meant: readonly string[] }> {
  const found = new Set<string>();
  const meant: string[] = [];
  for (const given of all ?? []) {
    const meanings = await resolve(given);
    for (const meaning of meanings) found.add(meaning);
    if (meanings.join() !== given) meant.push(oneLine(`${given} is ${meanings.join(', ')}.`));
  }
  return { found: [...found], meant };
}

export function secretIn(path: string): string {
  return contentOf(path, 'The secret file', 'It must be a readable file that contains only the secret.').replace(
    /\r?\n$/,
    '',
  );
}

const HEADERS = 'It must have one header per line, as in: Authorization: Bearer …';

/**
 * Reads a file of `Name: value` lines. Throws a Refusal for any other line; the service checks the names and values.
 */
function headersIn(path: string): Readonly<Record<string, string>> {
  const lines = contentOf(path, 'The headers file', HEADERS).split(/\r?\n/);
  const headers = lines.flatMap((line, index): [string, string][] => {
    if (line.trim() === '') return [];
    const [, name, value] = /^([^:\s]+):(.*)$/.exec(line) ?? [];
    if (name !== undefined && value !== undefined) return [[name, value.trim()]];
    throw new Refusal(EXIT.config, `Line ${index + 1} of the headers file ${path} is not a header.`, HEADERS);
  });
  return Object.fromEntries(headers);
}

function contentOf(path: string, what: string, hint: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    throw new Refusal(EXIT.config, `${what} ${path} cannot be read (${errorCode(error)}).`, hint);
  }
}
