import { readFileSync } from 'node:fs';
import type { PosternClient } from '../../client/postern-client.ts';
import { errorCode } from '../../domain/errors.ts';
import { ROW_EVENT_TYPES } from '../../domain/event.ts';
import { type Webhook, type WebhookEventType, wantsChanges } from '../../domain/webhook.ts';
import { systemClock } from '../../runtime/clock.ts';
import { type ClientContext, EXIT } from '../context.ts';
import { type Column, sayTable } from '../output/table.ts';
import { json, oneLine } from '../output/text.ts';
import { shownTime } from '../output/time.ts';
import { type ConnectionOptions, Refusal, withService } from '../service-connection.ts';

export interface AddOptions extends ConnectionOptions {
  readonly event?: readonly WebhookEventType[];
  /** Like the key, the secret is never an argument. */
  readonly secretFile?: string;
}

const WEBHOOKS: readonly Column[] = [
  { title: 'ID' },
  { title: 'STATE' },
  { title: 'URL', isFlexible: true, least: 20 },
  { title: 'EVENTS', isFlexible: true, least: 10 },
];
const DELIVERIES: readonly Column[] = [
  { title: 'ENDED' },
  { title: 'EVENT' },
  { title: 'ROW' },
  { title: 'OUTCOME' },
  { title: 'TRIES' },
  { title: 'STATUS' },
  { title: 'ERROR', isFlexible: true, least: 10 },
];
/** Enough of an id for a person; any beginning that only one has is understood. */
const SHORT_ID = 8;

export function listWebhooks(options: ConnectionOptions, context: ClientContext): Promise<number> {
  return withService(options, context, async ({ client }) => {
    const webhooks = await client.webhooks();
    if (options.json === true) {
      context.stdout(json(webhooks, 2));
      return EXIT.ok;
    }
    const { webhooks: summaries } = await client.status();
    const stateOf = (id: string): string => summaries.find((summary) => summary.id === id)?.state ?? '';
    const rows = webhooks.map(({ id, url, events }) => [
      context.columns === undefined ? id : id.slice(0, SHORT_ID),
      stateOf(id),
      url,
      shownEvents(events),
    ]);
    sayTable(context, WEBHOOKS, rows, 'No webhook is registered.');
    return EXIT.ok;
  });
}

/** What is not of a change is in `all`. */
function shownEvents(events: Webhook['events']): string {
  const isAll = ROW_EVENT_TYPES.every((type) => events.includes(type));
  if (!isAll) return events.join(', ');
  return wantsChanges({ events }) ? 'all, with changes' : 'all';
}

export function addWebhook(url: string, options: AddOptions, context: ClientContext): Promise<number> {
  return withService(options, context, async ({ client }) => {
    const webhook = await client.addWebhook({
      url,
      events: options.event ?? ROW_EVENT_TYPES,
      ...(options.secretFile !== undefined && { secret: secretIn(options.secretFile) }),
    });
    context.stdout(
      options.json === true ? json(webhook, 2) : `Webhook ${webhook.id} registered. It receives events from now on.`,
    );
    return EXIT.ok;
  });
}

export function removeWebhook(given: string, options: ConnectionOptions, context: ClientContext): Promise<number> {
  return withService(options, context, async ({ client }) => {
    const { id } = await webhookOf(client, given);
    await client.removeWebhook(id);
    context.stdout(options.json === true ? json({ id }, 2) : `Webhook ${id} removed. Nothing more is sent to it.`);
    return EXIT.ok;
  });
}

export function listDeliveries(given: string, options: ConnectionOptions, context: ClientContext): Promise<number> {
  return withService(options, context, async ({ client }) => {
    const { id } = await webhookOf(client, given);
    const deliveries = await client.deliveries(id);
    if (options.json === true) {
      context.stdout(json(deliveries, 2));
      return EXIT.ok;
    }
    const rows = deliveries.map(({ at, event, row_id: rowId, outcome, attempts, status, error }) => [
      shownTime(at, systemClock.now()),
      event,
      String(rowId),
      outcome,
      String(attempts),
      status === null ? '' : String(status),
      error ?? '',
    ]);
    sayTable(context, DELIVERIES, rows, 'There are no deliveries yet.');
    return EXIT.ok;
  });
}

/** Sends a test event; 1 when the receiver did not take it. */
export function testWebhook(given: string, options: ConnectionOptions, context: ClientContext): Promise<number> {
  return withService(options, context, async ({ client }) => {
    const { id } = await webhookOf(client, given);
    const result = await client.testWebhook(id);
    const answer = result.status === null ? '' : ` The receiver answered ${result.status}.`;
    const sentence = result.delivered
      ? 'The receiver accepted the test event.'
      : 'The receiver did not accept the test event.';
    const why = result.error === null ? '' : ` ${oneLine(result.error)}`;
    context.stdout(options.json === true ? json(result, 2) : `${sentence}${answer}${why} (${result.duration_ms} ms)`);
    return result.delivered ? EXIT.ok : EXIT.crash;
  });
}

export function replayWebhook(
  given: string,
  options: ConnectionOptions & { readonly after: number },
  context: ClientContext,
): Promise<number> {
  return withService(options, context, async ({ client }) => {
    const { id } = await webhookOf(client, given);
    const webhook = await client.replayWebhook(id, options.after);
    context.stdout(
      options.json === true
        ? json(webhook, 2)
        : `Redelivering everything after row ${options.after} to webhook ${id}, under the same delivery ids.`,
    );
    return EXIT.ok;
  });
}

/** The webhook with this id, or the only one whose id begins so. */
async function webhookOf(client: PosternClient, given: string): Promise<Webhook> {
  const found = (await client.webhooks()).filter(({ id }) => id.startsWith(given));
  const [only] = found;
  if (only !== undefined && (found.length === 1 || only.id === given)) return only;
  throw new Refusal(
    EXIT.refusedInput,
    only === undefined
      ? `There is no webhook ${given}.`
      : `${found.length} webhooks have an id that begins with ${given}.`,
    'postern webhooks list shows them.',
  );
}

function secretIn(path: string): string {
  try {
    return readFileSync(path, 'utf8').replace(/\r?\n$/, '');
  } catch (error) {
    throw new Refusal(
      EXIT.config,
      `The secret file ${path} cannot be read (${errorCode(error)}).`,
      'It must be a readable file that contains only the secret.',
    );
  }
}
