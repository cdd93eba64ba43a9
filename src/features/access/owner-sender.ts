import type { AuditAction } from '../../client/access-types.ts';
import type { Core } from '../../core/core.ts';
import { resolveRecipient } from '../../core/model/destination.ts';
import { problemCode } from '../../core/model/errors.ts';
import { OWNER } from '../../core/model/owner.ts';
import type { ChatDirectory } from '../../core/model/ports/directory-ports.ts';
import type { CallerSender } from '../../core/model/ports/sending-ports.ts';
import type { Audit } from './audit.ts';
import { assertGroupIsKnown } from './rights.ts';

/**
 * Sends for the owner. Allows every send, and records it in the audit log. `auditNow` returns undefined until the first
 * limited key is created.
 */
export function ownerSender(
  { sender, deferrals }: Pick<Core, 'sender' | 'deferrals'>,
  directory: ChatDirectory,
  auditNow: () => Audit | undefined,
): CallerSender {
  const note = (target: string, text: string, outcome: string, action: AuditAction = 'send'): void => {
    const audit = auditNow();
    audit?.noteEnd({ keyId: OWNER, action, target, outcome, textHmac: audit.hmac(text) });
  };
  return {
    attachmentMistakes: (paths) => sender.attachmentMistakes(paths),
    async send(request) {
      const { recipient, body: text } = request;
      if (request.dryRun === true) {
        assertGroupIsKnown(directory, recipient);
        await sender.check(request, deferrals.mistakes(request));
        const { to, members } = resolveRecipient(directory, recipient) ?? { to: recipient, members: [] };
        return { kind: 'dry_run', dryRun: { would: 'send', to, members, text } };
      }
      try {
        if (request.sendAtMs !== undefined) {
          const deferred = await deferrals.add(request, { keyId: OWNER });
          const { replayed } = deferred;
          if (!replayed) note(recipient, text, 'scheduled', 'schedule');
          return { kind: 'deferred', deferred, replayed };
        }
        const result = await sender.send(request);
        note(result.message.conversation_id || recipient, text, result.confirmed ? 'sent' : 'pending');
        return { kind: 'sent', ...result };
      } catch (error) {
        note(recipient, text, problemCode(error));
        throw error;
      }
    },
  };
}
