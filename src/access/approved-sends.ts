import type { ApprovalState } from '../domain/approval.ts';
import { errorCode, isAppError } from '../domain/errors.ts';
import type { ApprovalStore, StoredApproval } from '../domain/ports/access.ts';
import type { Clock, Log } from '../domain/ports/host.ts';
import type { Scheduler } from '../domain/ports/scheduled.ts';
import type { HeldFiles, IdempotencyStore, MessageSender } from '../domain/ports/sending.ts';
import { sendOptions } from '../domain/send-service.ts';

/** How long the claim of an idempotency key is remembered. */
const CLAIM_MS = 24 * 60 * 60 * 1000;
/** Problems that mean that a held send is no longer permitted. */
const NOT_ALLOWED: ReadonlySet<string> = new Set([
  'recipient_not_allowed',
  'attachment_changed',
  'attachment_not_allowed',
  'unauthorized',
]);

export interface ApprovedSendsParts {
  readonly store: ApprovalStore;
  readonly files: HeldFiles;
  readonly sender: MessageSender;
  readonly scheduler: Scheduler;
  readonly idempotency: IdempotencyStore;
  readonly clock: Clock;
  readonly log: Log;
  /** Throws unless the key may still send there, and the readers are still those shown. */
  readonly check: (keyId: string, to: string, members: readonly string[]) => void;
}

interface End {
  readonly state: ApprovalState;
  readonly messageId?: string;
  readonly problem?: string;
}

/** Sends approved messages at most once, even through crashes: each has its own idempotency key. */
export class ApprovedSends {
  readonly #parts: ApprovedSendsParts;
  readonly #onEnd: (approval: StoredApproval, state: ApprovalState) => void;
  readonly #running = new Set<Promise<void>>();
  #isClosed = false;

  /** `onEnd` is called with the outcome, once that is stored. */
  constructor(parts: ApprovedSendsParts, onEnd: (approval: StoredApproval, state: ApprovalState) => void) {
    this.#parts = parts;
    this.#onEnd = onEnd;
  }

  begin(approval: StoredApproval): void {
    const sending = this.#send(approval).finally(() => this.#running.delete(sending));
    this.#running.add(sending);
  }

  /** Resolves once nothing is being sent any more. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.all(this.#running);
  }

  async #send(approval: StoredApproval): Promise<void> {
    const { store, files, log } = this.#parts;
    try {
      const end = await this.#outcome(approval);
      if (end === undefined) return;
      store.finish(approval.id, end.state, { messageId: end.messageId ?? null, problem: end.problem ?? null });
      this.#onEnd(approval, end.state);
      if (end.state !== 'scheduled') await files.remove(approval.id);
    } catch (error) {
      // The send stays approved, and the next start looks its outcome up by the idempotency key.
      log.error('the end of an approved send could not be stored', { approval: approval.id, code: errorCode(error) });
    }
  }

  /** Undefined if the service stops before its turn: it is sent after the next start. */
  async #outcome(approval: StoredApproval): Promise<End | undefined> {
    const { sender, files, check, clock, idempotency } = this.#parts;
    const { id, key_id, to, members, text, attachments, expiresMs } = approval;
    const idempotencyKey = { kind: 'approval', key: id } as const;
    if (text === null) return { state: 'unknown', problem: 'send_outcome_unknown' };
    const nowMs = clock.now();
    if (nowMs >= expiresMs && idempotency.find(idempotencyKey, nowMs) === undefined) {
      // A claim is deleted after a day, so its absence then proves nothing.
      return nowMs >= expiresMs + CLAIM_MS / 2
        ? { state: 'unknown', problem: 'send_outcome_unknown' }
        : { state: 'void', problem: 'approval_expired' };
    }
    try {
      if (approval.options.sendAtMs !== undefined) {
        check(key_id, to, members);
        await this.#schedule(approval, text);
        return { state: 'scheduled' };
      }
      const { confirmed, message } = await sender.send({
        recipient: to,
        body: text,
        attachments: await files.paths(id, attachments),
        areCopies: true,
        ...sendOptions(approval.options),
        idempotencyKey,
        check: () => check(key_id, to, members),
      });
      return confirmed ? { state: 'sent', messageId: message.id } : { state: 'pending' };
    } catch (error) {
      return this.#failure(error);
    }
  }

  /** The entry has the id of the approval, so it is made once through crashes; its files are those that were held. */
  async #schedule(
    { id, key_id: keyId, to, members, attachments, options }: StoredApproval,
    text: string,
  ): Promise<void> {
    const request = { recipient: to, body: text, attachments: [], ...sendOptions(options) };
    await this.#parts.scheduler.add(request, { keyId, approved: { id, members, files: attachments } });
  }

  #failure(error: unknown): End | undefined {
    const code = isAppError(error) ? error.code : 'internal_error';
    if (!isAppError(error)) this.#parts.log.error('an approved send failed', { error });
    if (code === 'shutting_down' && this.#isClosed) return undefined;
    if (NOT_ALLOWED.has(code)) return { state: 'void', problem: code };
    const isUnknown = code === 'send_outcome_unknown' || code === 'internal_error';
    return { state: isUnknown ? 'unknown' : 'failed', problem: code };
  }
}
