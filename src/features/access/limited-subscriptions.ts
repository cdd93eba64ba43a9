import {
  endpointOf,
  hasUserInfo,
  hostAndPortOf,
  isOnThisMachine,
  mayCallBack,
} from '../../core/model/callback-hosts.ts';
import type { Key } from '../../core/model/key.ts';
import type { SubscriptionService, Subscriptions } from '../../core/model/ports/subscriptions-ports.ts';
import { problem } from '../../core/model/problems.ts';
import type { OwnListeners } from '../../core/runtime/own-listeners.ts';
import type { LimitedKey } from './limited-key.ts';

/** Maximum number of subscriptions per limited key. */
const MAX_OWN = 16;

interface LimitedSubscriptionsParts {
  readonly subscriptions: SubscriptionService;
  readonly key: () => Key;
  readonly ownListeners: Pick<OwnListeners, 'isReachedBy'>;
  readonly note: (target: string, outcome: string) => void;
}

/** Returns the subscriptions of one key. They may post only to hosts that the key's webhooks may use. */
export function limitedSubscriptions(parts: LimitedSubscriptionsParts): Subscriptions {
  const { subscriptions, key, ownListeners, note } = parts;
  const assertScope = (): void => {
    const needs = 'webhooks';
    if (key().scopes.includes(needs)) return;
    throw problem('scope_missing', { needs: `the scope ${needs}` }, { extra: { needs } });
  };
  return {
    async subscribe(request) {
      assertScope();
      const { id, callback_hosts: hosts } = key();
      const { url } = request;
      if (!mayCallBack(hosts, url)) throw problem('webhook_not_allowed');
      if (hasUserInfo(url)) throw problem('webhook_user_not_allowed');
      if (await ownListeners.isReachedBy(endpointOf(url))) throw problem('webhook_to_postern');
      const isNewAddress = !subscriptions.of(id).some((one) => hostAndPortOf(one.url) === hostAndPortOf(url));
      const grant = await subscriptions.subscribe(id, request, MAX_OWN);
      if (grant.health === undefined) note(grant.id, 'registered');
      if (isNewAddress && !isOnThisMachine(url)) note(hostAndPortOf(url), 'posts_to');
      return grant;
    },
    async unsubscribe(target) {
      assertScope();
      const isEnded = await subscriptions.unsubscribe(key().id, target);
      if (isEnded) note(hostAndPortOf(target.url), 'removed');
      return isEnded;
    },
  };
}

/**
 * Ends a key's subscriptions if they post to hosts that the key may no longer use. Ends all of the key's subscriptions
 * if the key is no longer valid.
 */
export function endForbidden(subscriptions: SubscriptionService, key: LimitedKey, nowMs: number): void {
  const { id, callback_hosts: hosts } = key.stored;
  if (!key.isAlive(nowMs)) subscriptions.terminate(id);
  else for (const one of subscriptions.of(id)) if (!mayCallBack(hosts, one.url)) subscriptions.remove(one.id);
}
