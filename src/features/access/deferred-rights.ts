import type { DueSend } from '../../core/model/ports/deferral-ports.ts';
import type { ChatDirectory } from '../../core/model/ports/directory-ports.ts';
import type { Clock } from '../../core/model/ports/host-ports.ts';
import { problem } from '../../core/model/problems.ts';
import type { Audit } from './audit.ts';
import { assertWithinCaps } from './caps.ts';
import type { LimitedKey } from './limited-key.ts';
import { allowedDestination, assertStillAllowed, isNewContact, sendRight } from './rights.ts';

interface DeferredRightsParts {
  readonly directory: ChatDirectory;
  readonly clock: Clock;
  readonly audit: Audit;
}

/**
 * Returns the check that runs immediately before a deferred send. It throws if the send is now forbidden
 * by the key's list, the people who would read it, the approval setting or the caps. The send counts towards the caps
 * once, even if it is tried again.
 */
export function deferredCheck(
  parts: DeferredRightsParts,
  key: LimitedKey | undefined,
  { to, members, isApproved, key_id: keyId, id, text, begunMs }: DueSend,
): () => void {
  let isCounted = begunMs !== null;
  return () => {
    const { directory, clock, audit } = parts;
    assertStillAllowed(parts, key, to, members ?? undefined);
    if (key === undefined) return;
    if (!isApproved && (key.stored.dry_run || sendRight(directory, key, to) !== 'yes')) {
      throw problem('recipient_not_allowed');
    }
    if (isCounted) return;
    const destination = allowedDestination(directory, key, to);
    const target = destination.chats[0] ?? to;
    const isNew = isNewContact(directory, destination);
    assertWithinCaps(audit, key.stored, { target, isNew }, clock.now(), ['leaving']);
    const textHmac = audit.hmac(text ?? '');
    audit.note({ keyId, action: 'send', target, outcome: 'due', textHmac, isNew, ask: `scheduled ${id}` });
    isCounted = true;
  };
}
