import { AppError } from '../../domain/errors.ts';
import type { WebhookRegistry } from '../../domain/ports.ts';
import type { StoredWebhook, Webhook } from '../../domain/webhook.ts';
import { checkBody, invalidRequest } from '../../wire/mistakes.ts';
import { API } from '../../wire/routes.ts';
import { webhookBody } from '../../wire/webhook.ts';
import { readJson } from '../body.ts';
import type { Handlers } from '../route.ts';

export function webhookRoutes(
  webhooks: WebhookRegistry,
): Pick<Handlers, 'listWebhooks' | 'registerWebhook' | 'deleteWebhook'> {
  return {
    listWebhooks: () => ({ status: 200, body: webhooks.list().map(shown) }),

    async registerWebhook({ request }) {
      const checked = checkBody(webhookBody, await readJson(request));
      if (!checked.ok) throw invalidRequest(checked.mistakes);
      const { url, events, secret = null, include = [] } = checked.value;
      const webhook = webhooks.add({ url, events, secret, includeDetails: include.includes('details') });
      return { status: 201, body: shown(webhook), headers: { Location: `${API}/webhooks/${webhook.id}` } };
    },

    async deleteWebhook(exchange) {
      if (await webhooks.remove(exchange.param('id'))) return { status: 204 };
      throw new AppError('not_found', 'webhook_not_found', 'There is no webhook with this id.');
    },
  };
}

/** What the contract shows of a webhook: not its secret. */
function shown({ id, url, events, created_at }: StoredWebhook): Webhook {
  return { id, url, events, created_at };
}
