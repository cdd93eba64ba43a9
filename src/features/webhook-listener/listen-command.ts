import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { isPosternError } from '../../client/postern-client.ts';
import type { ConnectionOptions } from '../../core/cli/context.ts';
import { EXIT } from '../../core/cli/context.ts';
import { shownEvent } from '../../core/cli/output/event-line.ts';
import { columnsOf, json, printable } from '../../core/cli/output/text.ts';
import { Refusal, type Served } from '../../core/cli/service-connection.ts';
import { type ChangeEvent, type Event, ROW_EVENT_TYPES } from '../../core/model/event.ts';
import { isLoopback } from '../../core/model/loopback.ts';
import type { WebhookEventType } from '../../core/model/webhook.ts';
import { systemClock } from '../../core/runtime/clock.ts';
import { type FilterOptions, filterOf, secretIn } from '../client-commands/port.ts';
import { isLeftover, type ReceivedDelivery, startReceiver } from './receiver.ts';

interface ListenOptions extends ConnectionOptions, FilterOptions {
  readonly event?: readonly WebhookEventType[];
  readonly forwardTo?: string;
  readonly secretFile?: string;
}

type Received = Event | ChangeEvent | { readonly type: 'webhook.test' };

const NAME = 'postern webhooks listen';
/** Time limit for the receiver at `--forward-to`, in milliseconds. Equals the service's limit for a delivery. */
const FORWARD_MS = 10_000;
/** Matches the names of the headers that `forward` passes on. */
const FORWARDED = /^(?:content-type|user-agent|x-webhook-.*|webhook-.*)$/;

/** `postern webhooks listen`: receives deliveries on this machine while the command runs. */
export async function listen(options: ListenOptions, service: Served): Promise<void> {
  const { forwardTo } = options;
  const { client, address, stderr } = service;
  assertHere(address);
  if (forwardTo !== undefined && !/^https?:$/.test(URL.canParse(forwardTo) ? new URL(forwardTo).protocol : '')) {
    throw new Refusal(
      EXIT.usage,
      `--forward-to is ${forwardTo}; it must be an address such as http://127.0.0.1:8080/hook.`,
    );
  }
  const secret =
    options.secretFile === undefined ? `whsec_${randomBytes(32).toString('base64')}` : secretIn(options.secretFile);
  const { filter, meant } = await filterOf(client, options);
  await removeLeftovers(service);
  const signal = service.untilEnded();
  const receiver = await startReceiver(
    secret,
    (delivery) => receive(delivery, options, service),
    () => stderr('A request without a valid signature was refused.'),
  );
  try {
    const { id } = await client.addWebhook({
      url: receiver.url,
      events: options.event ?? ROW_EVENT_TYPES,
      secret,
      name: NAME,
      ...(filter !== undefined && { filter }),
    });
    stderr(
      `Receiving events as webhook ${id.slice(0, 8)} and checking their signatures. Stop with Ctrl+C.`,
      ...meant,
      ...(options.secretFile === undefined ? [`Secret of this run: ${secret}`] : []),
      ...(forwardTo === undefined ? [] : [printable(`Forwarding to ${forwardTo}`)]),
    );
    if (!signal.aborted) await once(signal, 'abort');
    await removed(id, service);
  } finally {
    await receiver.close();
  }
}

/** Throws a Refusal unless the service runs on this machine: this command listens only on loopback. */
function assertHere(address: string): void {
  const host = URL.canParse(address) ? new URL(address).hostname : 'localhost';
  if (isLoopback(host)) return;
  throw new Refusal(
    EXIT.usage,
    `The service at ${address} cannot reach a receiver on this machine.`,
    'Run this command on the machine of the service, or use postern tail, which works from anywhere.',
  );
}

/**
 * Removes webhooks that earlier runs of this command left behind because they were killed. With a limited key, removes
 * only the key's own webhooks, because the key sees no others.
 */
async function removeLeftovers(service: Served): Promise<void> {
  for (const { id, url } of await service.client.webhooks()) {
    if (await isLeftover(url)) await removed(id, service);
  }
}

async function removed(id: string, { client, stderr }: Served): Promise<void> {
  try {
    await client.removeWebhook(id);
  } catch (error) {
    if (!isPosternError(error)) throw error;
    if (error.status === 404) return;
    stderr(
      printable(error.message),
      `Webhook ${id} is still registered. The next "postern webhooks listen" removes it.`,
    );
  }
}

async function receive(
  { headers, body }: ReceivedDelivery,
  { forwardTo, json: asJson }: ListenOptions,
  { columns, paint, writeLine, stderr }: Served,
): Promise<number> {
  const event = JSON.parse(body.toString('utf8')) as Received;
  const forwarded = forwardTo === undefined ? undefined : await forward(forwardTo, { headers, body });
  const attempt = Number(headers['x-webhook-attempt']);
  const notes = [
    ...(attempt > 1 ? [`attempt ${attempt}`] : []),
    ...(forwarded === undefined ? [] : [`forwarded: ${forwarded.outcome}`]),
  ].join(', ');
  if (asJson === true) {
    await writeLine(json(event));
    if (notes !== '') stderr(printable(notes));
  } else {
    const note = notes === '' ? '' : `  (${notes})`;
    const room = columns === undefined ? undefined : columns - columnsOf(note);
    const text =
      event.type === 'webhook.test' ? 'A test event.' : shownEvent(event, systemClock.now(), { columns: room, paint });
    await writeLine(text + note);
  }
  return forwarded?.status ?? 204;
}

/**
 * Forwards a delivery to the receiver at `url`, with unchanged bytes and signatures. Returns that receiver's status,
 * which decides whether the service retries; 502 if it did not answer.
 */
async function forward(
  url: string,
  { headers, body }: ReceivedDelivery,
): Promise<{ readonly status: number; readonly outcome: string }> {
  const kept = Object.entries(headers).filter(([name]) => FORWARDED.test(name));
  try {
    const answer = await fetch(url, {
      method: 'POST',
      headers: kept.map(([name, value]): [string, string] => [name, String(value)]),
      body: Uint8Array.from(body),
      redirect: 'manual',
      signal: AbortSignal.timeout(FORWARD_MS),
    });
    await answer.body?.cancel();
    return { status: answer.status, outcome: String(answer.status) };
  } catch (error) {
    return { status: 502, outcome: (error as Error).name === 'TimeoutError' ? 'no answer in time' : 'no connection' };
  }
}
