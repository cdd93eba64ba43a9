import type { EventCaller } from '../../model/caller.ts';
import type { WebhookRegistry } from '../../model/ports/webhooks-ports.ts';
import { problem } from '../../model/problems.ts';
import { type StoredWebhook, type Webhook, type WebhookStatus, withoutPassword } from '../../model/webhook.ts';
import { readBody } from '../../schema/mistakes.ts';
import { readQuery } from '../../schema/query-parameters.ts';
import type { Handler } from '../router.ts';
import { withoutUndefined } from '../without-undefined.ts';
import { deliveriesQuery, replayBody, webhookBody, webhookChangesBody, webhooksQuery } from './schema.ts';

/** The handlers for webhooks, and for their deliveries. */
export const HANDLERS = {
  async listWebhooks({ query, caller: { key, webhooks } }) {
    const { include } = readQuery(webhooksQuery, query);
    const all = webhooks.list().map((webhook) => ({
      ...shown(webhook),
      ...(key === undefined && webhook.wire === undefined && include === undefined && { url: webhook.url }),
    }));
    if (include === undefined) return { status: 200, body: all };
    const states = await Promise.all(all.map(async ({ id }) => webhooks.status(id)));
    return { status: 200, body: all.map((webhook, index) => ({ ...webhook, ...states[index] })) };
  },

  async registerWebhook(exchange) {
    const { url, events, ...others } = readBody(webhookBody, await exchange.json());
    const webhook = await exchange.caller.webhooks.add({ url, events, ...withoutUndefined(others) });
    return { status: 201, body: shown(webhook), headers: { Location: `webhooks/${webhook.id}` } };
  },

  async getWebhook(exchange) {
    return { status: 200, body: await withStatus(exchange.caller.webhooks, exchange.param('id')) };
  },

  async changeWebhook(exchange) {
    const changes = withoutUndefined(readBody(webhookChangesBody, await exchange.json()));
    const { id } = await exchange.caller.webhooks.change(exchange.param('id'), changes);
    return { status: 200, body: await withStatus(exchange.caller.webhooks, id) };
  },

  async listDeliveries(exchange) {
    const { include, outcome: wanted } = readQuery(deliveriesQuery, exchange.query);
    const { webhooks } = exchange.caller;
    const id = exchange.param('id');
    const all = await (include === undefined ? webhooks.deliveries(id) : webhooks.detailedDeliveries(id));
    return { status: 200, body: wanted === undefined ? all : all.filter(({ outcome }) => outcome === wanted) };
  },

  async resendDelivery(exchange) {
    const { webhooks } = exchange.caller;
    return { status: 200, body: await webhooks.resend(exchange.param('id'), exchange.param('delivery')) };
  },

  async testWebhook(exchange) {
    return { status: 200, body: await exchange.caller.webhooks.test(exchange.param('id')) };
  },

  async retryWebhook(exchange) {
    const { id } = await exchange.caller.webhooks.retry(exchange.param('id'));
    return { status: 202, body: await withStatus(exchange.caller.webhooks, id) };
  },

  async replayWebhook(exchange) {
    const { after = 'dropped' } = readBody(replayBody, await exchange.json());
    const { id } = await exchange.caller.webhooks.replay(exchange.param('id'), after);
    return { status: 202, body: await withStatus(exchange.caller.webhooks, id) };
  },

  async deleteWebhook(exchange) {
    if (await exchange.caller.webhooks.remove(exchange.param('id'))) return { status: 204 };
    throw problem('webhook_not_found');
  },
} satisfies Readonly<Record<string, Handler<EventCaller>>>;

async function withStatus(webhooks: WebhookRegistry, id: string): Promise<Webhook & WebhookStatus> {
  // Reads the status before the webhook. At a hub, the status may come from another hub, and the webhook may change
  // until it arrives.
  const status = await webhooks.status(id);
  const webhook = webhooks.get(id);
  if (webhook === undefined) throw problem('webhook_not_found');
  return { ...shown(webhook), ...status };
}

/**
 * Returns a webhook as the API shows it, with the password in its URL masked. Only `listWebhooks` without `include`
 * shows whole URLs, and only to the owner.
 */
function shown(webhook: StoredWebhook): Webhook {
  const { id, events, created_at } = webhook;
  return { id, url: withoutPassword(webhook), events, created_at };
}
