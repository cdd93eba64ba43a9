import type { PosternClient } from '../../client/postern-client.ts';
import type { ConnectionOptions } from '../../core/cli/context.ts';
import { EXIT } from '../../core/cli/context.ts';
import { stateStyle } from '../../core/cli/output/style.ts';
import type { Column } from '../../core/cli/output/table.ts';
import { oneLine } from '../../core/cli/output/text.ts';
import { shownTime } from '../../core/cli/output/time.ts';
import { Refusal, type Served } from '../../core/cli/service-connection.ts';
import { shortId, withId } from '../../core/cli/shown-names.ts';
import { ROW_EVENT_TYPES } from '../../core/model/event.ts';
import { type HeldDelivery, type Webhook, wantsChanges, withoutPassword } from '../../core/model/webhook.ts';
import { pause, systemClock } from '../../core/runtime/clock.ts';

const NAME: Column = { title: 'NAME', isFlexible: true, least: 6 };
const WEBHOOKS: readonly [Column, Column, ...Column[]] = [
  { title: 'ID' },
  { title: 'STATE', style: stateStyle },
  { title: 'URL', isFlexible: true, least: 20 },
  { title: 'EVENTS', isFlexible: true, least: 10 },
];
const DELIVERIES: readonly Column[] = [
  { title: 'LAST TRY', style: () => 'dim' },
  { title: 'EVENT' },
  { title: 'ROW' },
  { title: 'OUTCOME', style: stateStyle },
  { title: 'TRIES' },
  { title: 'STATUS' },
  { title: 'ERROR', isFlexible: true, least: 10 },
];
/** Maximum wait for the outcome of an attempt: one second longer than an attempt can take. */
const ATTEMPT_MS = 11_000;

export async function listWebhooks(options: ConnectionOptions, service: Served): Promise<void> {
  const { client, answer, columns: width, list } = service;
  const webhooks = (await client.webhooks()).map((webhook) => ({ ...webhook, url: withoutPassword(webhook) }));
  if (options.json === true) return answer(webhooks);
  const { webhooks: summaries } = await client.status();
  const summaryOf = (id: string) => summaries.find((summary) => summary.id === id);
  const hasNames = summaries.some(({ name }) => name !== undefined);
  const rows = webhooks.map(({ id, url, events }) => [
    width === undefined ? id : shortId(id),
    summaryOf(id)?.state ?? '',
    ...(hasNames ? [summaryOf(id)?.name ?? ''] : []),
    url,
    shownEvents(events),
  ]);
  const [first, second, ...others] = WEBHOOKS;
  const columns = hasNames ? [first, second, NAME, ...others] : WEBHOOKS;
  list(webhooks, columns, rows, 'No webhook is registered.');
}

/** Lists the event types. `all` stands for every type except changes. */
function shownEvents(events: Webhook['events']): string {
  const isAll = ROW_EVENT_TYPES.every((type) => events.includes(type));
  if (!isAll) return events.join(', ');
  return wantsChanges({ events }) ? 'all, with changes' : 'all';
}

export async function removeWebhook(given: string, _options: object, { client, answer }: Served): Promise<void> {
  const { id } = await webhookOf(client, given);
  await client.removeWebhook(id);
  answer({ id }, `Webhook ${id} removed. Nothing more is sent to it.`);
}

export async function listDeliveries(given: string, _options: object, { client, list }: Served): Promise<void> {
  const { id } = await webhookOf(client, given);
  const deliveries = await client.deliveries(id, { include: 'tries' });
  const rows = deliveries.map(({ at, event, row_id: rowId, outcome, attempts, status, error }) => [
    shownTime(at, systemClock.now()),
    event,
    String(rowId),
    outcome,
    String(attempts),
    status === null ? '' : String(status),
    error ?? '',
  ]);
  list(deliveries, DELIVERIES, rows, 'There are no deliveries yet.');
}

/** Sends a test event. Exits with 1 if the receiver did not accept it. */
export async function testWebhook(given: string, _options: object, { client, answer }: Served): Promise<number> {
  const { id } = await webhookOf(client, given);
  const result = await client.testWebhook(id);
  const status = result.status === null ? '' : ` The receiver answered ${result.status}.`;
  const sentence = result.delivered
    ? 'The receiver accepted the test event.'
    : 'The receiver did not accept the test event.';
  const why = result.error === null ? '' : ` ${oneLine(result.error)}`;
  answer(result, `${sentence}${status}${why} (${result.duration_ms} ms)`);
  return result.delivered ? EXIT.ok : EXIT.failed;
}

interface ReplayOptions {
  readonly after?: string;
  readonly dropped?: boolean;
  readonly latest?: boolean;
}

export async function replayWebhook(
  given: string,
  { after, dropped = false, latest = false }: ReplayOptions,
  { client, answer }: Served,
): Promise<void> {
  if ([after !== undefined, dropped, latest].filter(Boolean).length !== 1) {
    throw new Refusal(EXIT.usage, 'Say where to deliver from: one of --after ROW, --dropped and --latest.');
  }
  const { id } = await webhookOf(client, given);
  const { dropped: count } = dropped ? await client.webhook(id) : { dropped: 0 };
  const webhook = dropped
    ? await client.replayDropped(id)
    : await client.replayWebhook(id, latest ? 'latest' : (after ?? ''));
  const sentence = dropped
    ? `Redelivering ${count} dropped ${count === 1 ? 'event' : 'events'} to webhook ${id}, before its next event.`
    : latest
      ? `Webhook ${id} continues with the next event, after row ${webhook.row_id}.`
      : `Redelivering everything after row ${after} to webhook ${id}, under the same delivery ids.`;
  answer(webhook, sentence);
}

/** Attempts a held delivery now, and waits for the outcome. Exits with 1 unless it was delivered. */
export async function retryWebhook(given: string, _options: object, service: Served): Promise<number> {
  const { client, answer, copyable } = service;
  const { id } = await webhookOf(client, given);
  const before = await client.webhook(id);
  if (before.held === null || !before.enabled) {
    const resume = copyable(`\`postern webhooks resume ${shortId(id)}\``);
    answer(before, `Webhook ${id} ${before.held === null ? 'holds no delivery.' : `is paused. First: ${resume}`}`);
    return EXIT.failed;
  }
  await client.retryWebhook(id);
  const now = await afterAttempt(client, id, before.held);
  const isHeld = now.held?.id === before.held.id;
  const ended = isHeld ? undefined : (await client.deliveries(id)).find((one) => one.id === before.held?.id);
  if (ended?.outcome === 'delivered') {
    answer(now, `The receiver accepted the delivery. ${waiting(now.behind)}`);
    return EXIT.ok;
  }
  const error = isHeld && now.held.attempts > before.held.attempts ? now.held.error : ended?.error;
  const next = copyable(`\`postern webhooks show ${shortId(id)}\``);
  const sentence = error == null ? 'The attempt has not ended yet.' : `It was not delivered: ${oneLine(error)}`;
  answer(now, isHeld ? `${sentence} To see when Postern tries again: ${next}` : sentence);
  return EXIT.failed;
}

/** Waits until the held delivery has been attempted again, at most `ATTEMPT_MS`. Resolves with the webhook. */
async function afterAttempt(client: PosternClient, id: string, { id: delivery, attempts }: HeldDelivery) {
  const untilMs = systemClock.monotonic() + ATTEMPT_MS;
  for (let pauseMs = 100; ; pauseMs *= 2) {
    const webhook = await client.webhook(id);
    const isOver = webhook.held?.id !== delivery || webhook.held.attempts > attempts;
    const leftMs = untilMs - systemClock.monotonic();
    if (isOver || leftMs <= 0) return webhook;
    await pause(systemClock, Math.min(pauseMs, leftMs));
  }
}

function waiting(behind: number): string {
  return behind === 0 ? 'Nothing is waiting.' : `${behind} more ${behind === 1 ? 'row is' : 'rows are'} waiting.`;
}

/** Finds a webhook by its id, the beginning of its id, or its name. Throws a Refusal unless exactly one matches. */
export async function webhookOf(client: PosternClient, given: string): Promise<Webhook> {
  const webhooks = await client.webhooks();
  if (!webhooks.some(({ id }) => id.startsWith(given))) {
    const summaries = (await client.status()).webhooks;
    const named = summaries.filter(({ name }) => name?.toLowerCase() === given.toLowerCase());
    if (named.length > 1) {
      const sentence = `${named.length} webhooks have the name ${given}.`;
      throw new Refusal(EXIT.refusedInput, sentence, '`postern webhooks list` shows their ids.');
    }
    const found = webhooks.find(({ id }) => id === named[0]?.id);
    if (found !== undefined) return found;
  }
  return withId(webhooks, given, 'webhook', 'postern webhooks list');
}
