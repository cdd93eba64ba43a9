import type { Destination } from '../../core/model/destination.ts';
import { type Mistake, problemCode } from '../../core/model/errors.ts';
import type { ChatDirectory } from '../../core/model/ports/directory-ports.ts';
import type { Clock } from '../../core/model/ports/host-ports.ts';
import type { CallerSender, DryRun, SendAnswer, SendRequest } from '../../core/model/ports/sending-ports.ts';
import { problem } from '../../core/model/problems.ts';
import { sendOptions } from '../../core/model/send-service.ts';
import type { AllowedSends } from './allowed-sends.ts';
import type { ApprovalDesk } from './approval-desk.ts';
import type { Ask, Asks } from './asks.ts';
import type { Audit } from './audit.ts';
import { assertWithinCaps } from './caps.ts';
import { heldAnswer } from './held-answer.ts';
import type { LimitedKey } from './limited-key.ts';
import type { StoredApproval } from './ports.ts';
import { accessProblem } from './problems.ts';
import { allowedDestination, isHeld, isNewContact } from './rights.ts';

export interface LimitedSenderParts {
  readonly directory: ChatDirectory;
  readonly clock: Clock;
  readonly audit: Audit;
  readonly desk: ApprovalDesk;
  readonly asks: Asks;
  readonly sends: AllowedSends;
  /** Throws unless the key may send these files. */
  readonly assertFiles: (paths: readonly string[]) => Promise<void>;
}

/**
 * Sends under a limited key. Checks, in this order: the key's send list, attachments, repetition, caps, dry run,
 * approval (decision L1).
 */
export class LimitedSender implements CallerSender {
  readonly #key: LimitedKey;
  readonly #parts: LimitedSenderParts;

  constructor(key: LimitedKey, parts: LimitedSenderParts) {
    this.#key = key;
    this.#parts = parts;
  }

  /**
   * Reports no mistakes, because a mistake would reveal whether a file exists. `send` reports mistakes in files of
   * allowed folders.
   */
  async attachmentMistakes(): Promise<readonly Mistake[]> {
    return [];
  }

  async send(request: SendRequest): Promise<SendAnswer> {
    let run: () => Promise<SendAnswer>;
    try {
      run = await this.#admit(request);
    } catch (error) {
      this.#parts.audit.noteRefusal(this.#key.stored.id, problemCode(error), request.recipient.slice(0, 200));
      throw error;
    }
    return run();
  }

  /** Returns a function that carries out the request. Throws if the request is refused. */
  async #admit(request: SendRequest): Promise<() => Promise<SendAnswer>> {
    const destination = allowedDestination(this.#parts.directory, this.#key, request.recipient);
    await this.#parts.assertFiles(request.attachments);
    const ask = this.#parts.asks.of(this.#key.stored.id, request, destination.to);
    const earlier = this.#parts.desk.ofAsk(ask.id, ask.heldSinceMs);
    if (earlier !== undefined && (ask.hasKey || !this.#parts.asks.hasEndedUnsent(earlier))) {
      const answer = await this.#again(earlier, ask);
      return async () => answer;
    }
    return this.#admitNew(request, destination, ask, earlier?.createdMs);
  }

  /**
   * Admits a request that no earlier approval answers. Checks the caps and writes the audit log without awaiting, so
   * that simultaneous requests cannot exceed a cap together.
   */
  #admitNew(request: SendRequest, destination: Destination, ask: Ask, endedMs?: number): () => Promise<SendAnswer> {
    const { directory, clock, audit, asks, sends } = this.#parts;
    const key = this.#key;
    const { id: keyId, dry_run: isDryRun } = key.stored;
    const nowMs = clock.now();
    const { askedMs, atMs, idempotencyKey, isKnown } = asks.earlier(ask, nowMs, endedMs);
    if (isKnown) return () => sends.send(request, destination.to, idempotencyKey);
    const target = destination.chats[0] ?? destination.to;
    const isNew = isNewContact(directory, destination);
    const isScheduled = request.sendAtMs !== undefined;
    const counts = isScheduled ? (['asked'] as const) : (['asked', 'leaving'] as const);
    if (askedMs === undefined) assertWithinCaps(audit, key.stored, { target, isNew }, nowMs, counts);
    const waits = isHeld(key.stored, isNew);
    if (isDryRun || request.dryRun === true) {
      audit.noteDryRun(keyId, target);
      const { to, members } = destination;
      const dryRun: DryRun = { would: waits ? 'hold' : 'send', to, members, text: request.body };
      return async () => {
        await sends.check(request, to);
        return { kind: 'dry_run', dryRun };
      };
    }
    const action = isScheduled ? 'schedule' : 'send';
    const note = { keyId, action, target, textHmac: audit.hmac(request.body) } as const;
    if (askedMs === undefined) audit.note({ ...note, outcome: 'asked', isNew, ask: ask.id }, atMs);
    return async () => {
      if (waits) return this.#hold(request, destination, ask, askedMs ?? atMs);
      try {
        const answer = await sends.send(request, destination.to, idempotencyKey);
        if (answer.kind === 'deferred') audit.noteScheduling(keyId, 'scheduled', target);
        else if (!answer.replayed) audit.noteEnd({ ...note, outcome: answer.confirmed ? 'sent' : 'pending' });
        return answer;
      } catch (error) {
        // A repeated request does not count towards the caps, so only a folded line may record that it failed.
        if (isScheduled || askedMs !== undefined) audit.noteRefusal(keyId, problemCode(error), target);
        else audit.noteEnd({ ...note, outcome: problemCode(error) });
        throw error;
      }
    };
  }

  async #hold(request: SendRequest, destination: Destination, ask: Ask, askedMs: number): Promise<SendAnswer> {
    const { body: text, attachments, uploads = [] } = request;
    const files = { attachments, uploads };
    const { id, requestHash, hasKey } = ask;
    const keyId = this.#key.stored.id;
    try {
      const options = sendOptions(request);
      const asked = { ask: id, requestHash, hasKey, askedMs };
      const check = (): Promise<void> => this.#parts.sends.check(request, destination.to);
      const held = await this.#parts.desk.hold({ keyId, destination, text, files, options, ...asked, check });
      return heldAnswer(held);
    } catch (error) {
      this.#parts.audit.noteRefusal(keyId, problemCode(error), destination.to);
      throw error;
    }
  }

  /** Answers a repeated request with the outcome of the earlier one. */
  async #again(earlier: StoredApproval, ask: Ask): Promise<SendAnswer> {
    if (earlier.requestHash !== ask.requestHash) throw problem('idempotency_key_reused');
    switch (earlier.state) {
      case 'held':
      case 'approved':
      case 'pending':
      case 'scheduled':
        return heldAnswer(earlier);
      case 'sent': {
        const message = await this.#parts.sends.made(earlier.message_id ?? '');
        if (message === undefined) return heldAnswer(earlier);
        return { kind: 'sent', confirmed: true, message, replayed: true };
      }
      case 'denied':
        throw accessProblem('send_denied');
      case 'expired':
        throw accessProblem('approval_expired');
      case 'void':
        throw problem('recipient_not_allowed');
      case 'unknown':
        throw problem('send_interrupted');
      case 'withdrawn':
      case 'failed':
        throw accessProblem('already_decided', { state: earlier.state });
    }
  }
}
