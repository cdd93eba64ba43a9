import type { AuditAction } from '../../client/access-types.ts';
import { isAppError } from '../../core/model/errors.ts';
import { OWNER } from '../../core/model/owner.ts';
import type { Deferral } from '../../core/model/ports/deferral-ports.ts';
import type { ChatDirectory } from '../../core/model/ports/directory-ports.ts';
import type { CallerSender, MessageSender } from '../../core/model/ports/sending-ports.ts';
import { assertAnswerable } from '../../core/model/recipient.ts';
import type { Audit } from './audit.ts';
import { resolveRecipient } from './rights.ts';

export interface OwnerSenderParts {
  readonly sender: MessageSender;
  readonly deferral: Deferral;
  readonly directory: ChatDirectory;
  /** Returns undefined until the first limited key is created. */
  readonly audit: () => Audit | undefined;
}

/**
 * Sends for the owner. Allows every send. After the first limited key has been created, records each send in the audit
 * log.
 */
export function ownerSender({ sender, deferral, directory, audit: auditNow }: OwnerSenderParts): CallerSender {
  const note = (target: string, text: string, outcome: string, action: AuditAction = 'send'): void => {
    const audit = auditNow();
    audit?.noteEnd({ keyId: OWNER, action, target, outcome, textHmac: audit.hmac(text) });
  };
  return {
    attachmentMistakes: (paths) => sender.attachmentMistakes(paths),
    async send(request) {
      const { recipient, body: text } = request;
      if (request.dryRun === true) {
        assertAnswerable(recipient);
        const { to, members } = resolveRecipient(directory, recipient) ?? { to: recipient, members: [] };
        return { kind: 'dry_run', dryRun: { would: 'send', to, members, text } };
      }
      try {
        if (request.sendAtMs !== undefined) {
          const deferred = await deferral.add(request, { keyId: OWNER });
          const { replayed } = deferred;
          if (!replayed) note(recipient, text, 'scheduled', 'schedule');
          return { kind: 'deferred', deferred, replayed };
        }
        const result = await sender.send(request);
        note(result.message.conversation_id || recipient, text, result.confirmed ? 'sent' : 'pending');
        return { kind: 'sent', ...result };
      } catch (error) {
        note(recipient, text, isAppError(error) ? error.code : 'internal_error');
        throw error;
      }
    },
  };
}
