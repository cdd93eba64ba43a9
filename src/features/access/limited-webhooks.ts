import { endpointOf, hasUserInfo, hostAndPortOf, isOnThisMachine } from '../../core/model/callback-hosts.ts';
import type { Reach } from '../../core/model/port.ts';
import type { Clock } from '../../core/model/ports/host-ports.ts';
import type { WebhookRegistry } from '../../core/model/ports/webhooks-ports.ts';
import { problem } from '../../core/model/problems.ts';
import type { StoredWebhook, WebhookSettings } from '../../core/model/webhook.ts';
import { changedWebhook } from '../../core/model/webhook-settings.ts';
import type { OwnListeners } from '../../core/runtime/own-listeners.ts';
import { narrowed } from './narrowing.ts';
import type { ReadableChats } from './readable.ts';
import { DELIVERY, DELIVERY_RECORD, TEST_RESULT, WEBHOOK_STATUS } from './shown-webhooks.ts';

/** Maximum number of webhooks per limited key, so that one key cannot use up the limit for all webhooks together. */
const MAX_OWN = 8;

interface WebhooksCore {
  readonly owner: { readonly webhooks: WebhookRegistry };
  readonly ownListeners: Pick<OwnListeners, 'isReachedBy'>;
  readonly host: { readonly clock: Clock };
}

/**
 * Returns the webhooks of one key. The key cannot see or change any other webhook. A webhook of the key may post only
 * to hosts that the owner allowed. `assertAlive` throws if the key was revoked or has expired.
 */
export function limitedWebhooks(
  { owner: { webhooks }, ownListeners, host: { clock } }: WebhooksCore,
  chats: ReadableChats,
  reach: Pick<Reach, 'keyId' | 'mayCallBack' | 'noteCallback'>,
  assertAlive: () => void,
): WebhookRegistry {
  const ownId = reach.keyId;
  const note = (target: string, outcome: string): void => reach.noteCallback(target, outcome);
  const isOwn = ({ keyId }: StoredWebhook): boolean => keyId === ownId;
  const list = (): readonly StoredWebhook[] => webhooks.list().filter(isOwn);
  const get = (id: string): StoredWebhook | undefined => {
    const webhook = webhooks.get(id);
    return webhook !== undefined && isOwn(webhook) ? webhook : undefined;
  };
  const own = (id: string): StoredWebhook => {
    const webhook = get(id);
    if (webhook === undefined) throw problem('webhook_not_found');
    return webhook;
  };
  /**
   * Throws unless the key may register this webhook. Refuses additional headers: with them, a key could pose as another
   * program to a service that only this machine reaches.
   */
  const assertAllowed = ({ url, headers = {} }: Pick<WebhookSettings, 'url'> & Partial<WebhookSettings>): void => {
    if (!reach.mayCallBack(url)) throw problem('webhook_not_allowed');
    if (Object.keys(headers).length > 0) throw problem('webhook_headers_not_allowed');
    if (hasUserInfo(url)) throw problem('webhook_user_not_allowed');
  };
  /** Also throws if the webhook would post to this service, where its requests would count as the owner's. */
  const assertPermitted = async (webhook: Parameters<typeof assertAllowed>[0]): Promise<void> => {
    assertAllowed(webhook);
    if (await ownListeners.isReachedBy(endpointOf(webhook.url))) throw problem('webhook_to_postern');
    // The owner may have changed or revoked the key during the lookup.
    assertAlive();
    assertAllowed(webhook);
  };
  /** Records in the audit log that events are now posted to an address outside this machine (decision P7). */
  const noteAddress = (url: string): void => {
    if (!isOnThisMachine(url)) note(hostAndPortOf(url), 'posts_to');
  };
  return {
    list,
    get,
    async add(webhook) {
      await assertPermitted(webhook);
      if (list().length >= MAX_OWN) throw problem('too_many_webhooks', { max: MAX_OWN });
      const added = await webhooks.add({ ...webhook, keyId: ownId });
      note(added.id, 'registered');
      noteAddress(added.url);
      return added;
    },
    /** Refuses a change if the key could not register the changed webhook. */
    async change(id, changes) {
      const webhook = own(id);
      await assertPermitted(changedWebhook(webhook, changes, clock.now()));
      const changed = await webhooks.change(id, changes);
      note(id, 'changed');
      if (hostAndPortOf(changed.url) !== hostAndPortOf(webhook.url)) noteAddress(changed.url);
      return changed;
    },
    async remove(id) {
      if (get(id) === undefined) return false;
      const isRemoved = await webhooks.remove(id);
      if (isRemoved) note(id, 'removed');
      return isRemoved;
    },
    status: async (id) => narrowed(await webhooks.status(own(id).id), WEBHOOK_STATUS, chats),
    deliveries: async (id) =>
      (await webhooks.deliveries(own(id).id)).map((record) => narrowed(record, DELIVERY_RECORD, chats)),
    detailedDeliveries: async (id) =>
      (await webhooks.detailedDeliveries(own(id).id)).map((delivery) => narrowed(delivery, DELIVERY, chats)),
    async lastDelivery(id) {
      const record = await webhooks.lastDelivery(own(id).id);
      return record && narrowed(record, DELIVERY_RECORD, chats);
    },
    test: async (id) => narrowed(await webhooks.test(own(id).id), TEST_RESULT, chats),
    resend: async (id, delivery) => narrowed(await webhooks.resend(own(id).id, delivery), TEST_RESULT, chats),
    retry: (id) => webhooks.retry(own(id).id),
    replay: (id, from) => webhooks.replay(own(id).id, from),
  };
}
