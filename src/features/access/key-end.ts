import type { KeyDetails, KeyRevocation } from '../../client/key-types.ts';
import type { Core } from '../../core/core.ts';
import { mayCallBack } from '../../core/model/callback-hosts.ts';
import { OWNER } from '../../core/model/owner.ts';
import type { ApprovalDesk } from './approval-desk.ts';
import type { Audit } from './audit.ts';
import type { LimitedKey } from './limited-key.ts';

/**
 * Ends what a key no longer allows that has changed, expired or been revoked. Returns how many held and deferred sends
 * a revocation has ended.
 */
export function endDisallowed(
  { deferrals, uploads, owner: { webhooks }, guests, host }: EndingCore,
  { desk, audit }: { readonly desk: ApprovalDesk; readonly audit: Audit },
  { key, before = key.stored, isRevoked }: KeyChange,
): Omit<KeyRevocation, 'id'> {
  const { id, callback_hosts: hosts } = key.stored;
  const ended = {
    approvals_voided: isRevoked ? desk.voidAll(id) : 0,
    scheduled_cancelled: isRevoked ? deferrals.cancelAll(id) : 0,
  };
  if (isRevoked) void uploads.removeOf(id);
  for (const webhook of webhooks.list().filter(({ keyId }) => keyId === id)) {
    // Keeps a webhook whose host was forbidden to the key even before this change, because the owner chose that host.
    const isForbidden = mayCallBack(before.callback_hosts, webhook.url) && !mayCallBack(hosts, webhook.url);
    if (isForbidden) audit.note({ keyId: OWNER, action: 'webhook', target: webhook.id, outcome: 'removed' });
    if (isRevoked || isForbidden) void webhooks.remove(webhook.id);
  }
  const isAlive = key.isAlive(host.clock.now());
  guests.noteChange({ keyId: id, isAlive, mayCallBack: (url) => mayCallBack(hosts, url) });
  return ended;
}

type EndingCore = Pick<Core, 'deferrals' | 'uploads' | 'owner' | 'guests' | 'host'>;

/** A key that has changed, and its details before that. */
interface KeyChange {
  readonly key: LimitedKey;
  readonly before?: KeyDetails | undefined;
  readonly isRevoked: boolean;
}
