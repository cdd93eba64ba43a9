import type { ApprovalState } from '../../client/access-types.ts';
import type { Core } from '../../core/core.ts';
import { DAY_MS } from '../../core/model/durations.ts';
import { errorCode, isAppError, problemCode } from '../../core/model/errors.ts';
import { mayHaveBeenSent } from '../../core/model/failed-send.ts';
import type { IdempotencyKey } from '../../core/model/idempotency-key.ts';
import { sendOptions } from '../../core/model/send-service.ts';
import type { ApprovalStore, StoredApproval } from './ports.ts';

/** How long the idempotency store remembers that a key was claimed. */
const CLAIM_MS = DAY_MS;
/** Problems which show that a held send is no longer permitted. */
const NOT_ALLOWED: ReadonlySet<string> = new Set([
  'recipient_not_allowed',
  'attachment_changed',
  'attachment_not_allowed',
  'unauthorized',
]);

/** The parts of the core that make the sends. */
export type SendingCore = Pick<Core, 'keptFiles' | 'sender' | 'idempotency' | 'deferrals' | 'host'>;

export interface ApprovedSendsParts {
  readonly store: ApprovalStore;
  /** Throws if the key may no longer send to `to`, or if `members` are no longer the people that the owner saw. */
  readonly check: (keyId: string, to: string, members: readonly string[]) => void;
}

interface End {
  readonly state: ApprovalState;
  readonly messageId?: string;
  readonly problem?: string;
}

/**
 * Sends approved messages. Each message has its own idempotency key, so that it is sent at most once, even after a
 * crash.
 */
export class ApprovedSends {
  readonly #core: SendingCore;
  readonly #parts: ApprovedSendsParts;
  readonly #onEnd: (approval: StoredApproval, state: ApprovalState) => void;
  readonly #running = new Set<Promise<void>>();
  #isClosed = false;

  /** `onEnd` is called once an outcome is stored. */
  constructor(
    core: SendingCore,
    parts: ApprovedSendsParts,
    onEnd: (approval: StoredApproval, state: ApprovalState) => void,
  ) {
    this.#core = core;
    this.#parts = parts;
    this.#onEnd = onEnd;
  }

  begin(approval: StoredApproval): void {
    const sending = this.#send(approval).finally(() => this.#running.delete(sending));
    this.#running.add(sending);
  }

  /** Resolves once nothing is being sent. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.all(this.#running);
  }

  async #send(approval: StoredApproval): Promise<void> {
    const { keptFiles, host } = this.#core;
    try {
      const end = await this.#outcome(approval);
      if (end === undefined) return;
      this.#parts.store.finish(approval.id, end.state, {
        messageId: end.messageId ?? null,
        problem: end.problem ?? null,
      });
      this.#onEnd(approval, end.state);
      if (end.state !== 'scheduled') await keptFiles.remove(approval.id);
    } catch (error) {
      // The stored state is still `approved`. So the next start of the service looks up the outcome by the idempotency
      // key.
      host.log.error('could not store the outcome of an approved send', {
        approval: approval.id,
        code: errorCode(error),
      });
    }
  }

  /** Sends or defers the message. Returns undefined if the service stops first; the next start then sends it. */
  async #outcome(approval: StoredApproval): Promise<End | undefined> {
    const { keptFiles, sender, idempotency, host } = this.#core;
    const { check } = this.#parts;
    const { id, key_id, to, members, text, attachments, expiresMs } = approval;
    const isScheduled = approval.options.sendAtMs !== undefined;
    const idempotencyKey = { kind: isScheduled ? 'scheduled' : 'approval', key: id } as const;
    if (text === null) return { state: 'unknown', problem: 'send_outcome_unknown' };
    const nowMs = host.clock.now();
    if (nowMs >= expiresMs && idempotency.find(idempotencyKey, nowMs) === undefined) {
      // A missing claim means that nothing was sent, unless the store has already deleted it (after `CLAIM_MS`). Trusts
      // a missing claim for only half of that time, to leave a margin.
      return nowMs >= expiresMs + CLAIM_MS / 2
        ? { state: 'unknown', problem: 'send_outcome_unknown' }
        : { state: 'void', problem: 'approval_expired' };
    }
    try {
      if (isScheduled) {
        await this.#defer(approval, text, idempotencyKey);
        return { state: 'scheduled' };
      }
      const { confirmed, message } = await sender.send({
        recipient: to,
        body: text,
        attachments: await keptFiles.paths(id, attachments),
        areCopies: true,
        ...sendOptions(approval.options),
        idempotencyKey,
        keyId: key_id,
        check: () => check(key_id, to, members),
      });
      if (!confirmed) return { state: 'pending' };
      const { id: messageId, status } = message;
      return status === 'failed'
        ? { state: 'failed', messageId, problem: 'send_failed' }
        : { state: 'sent', messageId };
    } catch (error) {
      return this.#failure(error);
    }
  }

  /**
   * Defers the send under the approval's id, so that it is deferred only once even after a crash. Reuses the held
   * files.
   */
  async #defer(approval: StoredApproval, text: string, idempotencyKey: IdempotencyKey): Promise<void> {
    const { id, key_id: keyId, to, members, attachments, options } = approval;
    const check = (): void => this.#parts.check(keyId, to, members);
    const request = { recipient: to, body: text, attachments: [], ...sendOptions(options), idempotencyKey, check };
    await this.#core.deferrals.add(request, { keyId, approved: { id, members, files: attachments } });
  }

  #failure(error: unknown): End | undefined {
    const code = problemCode(error);
    if (!isAppError(error)) this.#core.host.log.error('an approved send failed', { error });
    if (code === 'shutting_down' && this.#isClosed) return undefined;
    if (mayHaveBeenSent(isAppError(error) ? error : { code })) return { state: 'unknown', problem: code };
    return { state: NOT_ALLOWED.has(code) ? 'void' : 'failed', problem: code };
  }
}
