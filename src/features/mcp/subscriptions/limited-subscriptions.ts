import { endpointOf, hasUserInfo, hostAndPortOf, isOnThisMachine } from '../../../core/model/callback-hosts.ts';
import type { ChangedKey } from '../../../core/model/guests.ts';
import type { Reach } from '../../../core/model/port.ts';
import { problem } from '../../../core/model/problems.ts';
import type { OwnListeners } from '../../../core/runtime/own-listeners.ts';
import type { SubscriptionService, Subscriptions } from './ports.ts';

/** Maximum number of subscriptions per limited key. */
const MAX_OWN = 16;

interface LimitedSubscriptionsParts {
  readonly subscriptions: SubscriptionService;
  readonly ownListeners: Pick<OwnListeners, 'isReachedBy'>;
}

/** Returns the subscriptions of one key. They may post only to hosts that the key's webhooks may use. */
export function limitedSubscriptions(
  { subscriptions, ownListeners }: LimitedSubscriptionsParts,
  key: Pick<Reach, 'keyId' | 'has' | 'mayCallBack' | 'noteCallback'>,
): Subscriptions {
  const { keyId: id } = key;
  const assertScope = (): void => {
    const needs = 'webhooks';
    if (key.has(needs)) return;
    throw problem('scope_missing', { needs: `the scope ${needs}` }, { extra: { needs } });
  };
  return {
    async subscribe(request) {
      assertScope();
      const { url } = request;
      if (!key.mayCallBack(url)) throw problem('webhook_not_allowed');
      if (hasUserInfo(url)) throw problem('webhook_user_not_allowed');
      if (await ownListeners.isReachedBy(endpointOf(url))) throw problem('webhook_to_postern');
      const isNewAddress = !subscriptions.of(id).some((one) => hostAndPortOf(one.url) === hostAndPortOf(url));
      const grant = await subscriptions.subscribe(id, request, MAX_OWN, () => key.mayCallBack(url));
      if (grant.health === undefined) key.noteCallback(grant.id, 'registered');
      if (isNewAddress && !isOnThisMachine(url)) key.noteCallback(hostAndPortOf(url), 'posts_to');
      return grant;
    },
    async unsubscribe(target) {
      assertScope();
      const isEnded = await subscriptions.unsubscribe(id, target);
      if (isEnded) key.noteCallback(hostAndPortOf(target.url), 'removed');
      return isEnded;
    },
  };
}

/**
 * Ends a key's subscriptions if they post to hosts that the key may no longer use. Ends all of the key's subscriptions
 * if the key is no longer valid.
 */
export function endForbidden(subscriptions: SubscriptionService, key: ChangedKey): void {
  if (!key.isAlive) subscriptions.terminate(key.keyId);
  else for (const { id, url } of subscriptions.of(key.keyId)) if (!key.mayCallBack(url)) subscriptions.remove(id);
}
