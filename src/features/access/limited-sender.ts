import { createHash } from 'node:crypto';
import { isAbsolute, relative, resolve as resolvePath } from 'node:path';
import type { Destination } from '../../core/model/destination.ts';
import { DAY_MS, MINUTE_MS } from '../../core/model/durations.ts';
import { isAppError, isChatDbAway, type Mistake } from '../../core/model/errors.ts';
import { type FailedSend, mayHaveBeenSent } from '../../core/model/failed-send.ts';
import type { IdempotencyKey } from '../../core/model/idempotency-key.ts';
import type { Message } from '../../core/model/message.ts';
import type { ChatDirectory } from '../../core/model/ports/directory-ports.ts';
import type { CallerSender, DryRun, SendAnswer, SendRequest } from '../../core/model/ports/sending-ports.ts';
import { invalidRequest, problem } from '../../core/model/problems.ts';
import { comparableSend, sendOptions } from '../../core/model/send-service.ts';
import type { AccessCore } from './access-core.ts';
import type { ApprovalDesk } from './approval-desk.ts';
import type { Audit } from './audit.ts';
import { assertWithinCaps } from './caps.ts';
import { heldAnswer } from './held-answer.ts';
import type { LimitedKey } from './limited-key.ts';
import { narrowed } from './narrowing.ts';
import type { AuditStore, StoredApproval } from './ports.ts';
import { accessProblem } from './problems.ts';
import type { ReadableChats } from './readable.ts';
import { allowedDestination, assertStillAllowed, isHeld, isNewContact, sendRight } from './rights.ts';
import type { ShownRows } from './shown-members.ts';

/** Without an Idempotency-Key, the same text to the same people within this time counts as the same request. */
const SAME_ASK_MS = 10 * MINUTE_MS;
const HELD_ASK_MS = 30 * DAY_MS;

export interface LimitedSenderParts {
  readonly directory: ChatDirectory;
  readonly chats: ReadableChats;
  readonly shown: ShownRows;
  readonly desk: ApprovalDesk;
  readonly audit: Audit;
  readonly auditStore: AuditStore;
}

type QueueAnswer = Extract<SendAnswer, { readonly kind: 'sent' | 'deferred' }>;

/** Identifies a request, so that repeating it neither sends nor asks for approval again. */
interface Ask {
  readonly id: string;
  /**
   * A request counts as a repetition if an equal one was made since `sinceMs` (direct sends) or `heldSinceMs` (held
   * sends).
   */
  readonly sinceMs: number;
  readonly heldSinceMs: number;
  readonly hasKey: boolean;
  readonly requestHash: string;
}

/**
 * Sends under a limited key. Checks, in this order: the key's send list, attachments, repetition, caps, dry run,
 * approval (decision L1).
 */
export class LimitedSender implements CallerSender {
  readonly #core: AccessCore;
  readonly #key: LimitedKey;
  readonly #parts: LimitedSenderParts;

  constructor(core: AccessCore, key: LimitedKey, parts: LimitedSenderParts) {
    this.#core = core;
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
      this.#parts.audit.noteRefusal(this.#key.stored.id, codeOf(error), request.recipient.slice(0, 200));
      throw error;
    }
    return run();
  }

  /** Returns a function that carries out the request. Throws if the request is refused. */
  async #admit(request: SendRequest): Promise<() => Promise<SendAnswer>> {
    const destination = allowedDestination(this.#parts.directory, this.#key, request.recipient);
    await this.#checkAttachments(request.attachments);
    const ask = this.#askOf(request, destination);
    const earlier = this.#parts.desk.ofAsk(ask.id, ask.heldSinceMs);
    if (earlier !== undefined && (ask.hasKey || earlier.state !== 'withdrawn')) {
      const answer = await this.#again(earlier, ask);
      return async () => answer;
    }
    return this.#admitNew(request, destination, ask, earlier?.createdMs);
  }

  /**
   * Admits a request that no earlier approval answers. Checks the caps and writes the audit log without awaiting, so
   * that simultaneous requests cannot exceed a cap together.
   */
  #admitNew(request: SendRequest, destination: Destination, ask: Ask, withdrawnMs?: number): () => Promise<SendAnswer> {
    const { directory, audit, auditStore } = this.#parts;
    const key = this.#key;
    const { id: keyId, dry_run: isDryRun } = key.stored;
    const nowMs = this.#core.host.clock.now();
    const { askedMs, atMs, idempotencyKey, isKnown } = this.#earlierSend(ask, nowMs, withdrawnMs);
    if (isKnown) return () => this.#queue(request, destination, idempotencyKey);
    const target = destination.chats[0] ?? destination.to;
    const isNew = isNewContact(directory, destination);
    const isScheduled = request.sendAtMs !== undefined;
    const counts = isScheduled ? (['asked'] as const) : (['asked', 'leaving'] as const);
    if (askedMs === undefined) assertWithinCaps(auditStore, key.stored, { target, isNew }, nowMs, counts);
    const waits = isHeld(key.stored, isNew);
    if (isDryRun || request.dryRun === true) {
      audit.noteDryRun(keyId, target);
      const { to, members } = destination;
      const dryRun: DryRun = { would: waits ? 'hold' : 'send', to, members, text: request.body };
      return async () => ({ kind: 'dry_run', dryRun });
    }
    const action = isScheduled ? 'schedule' : 'send';
    const note = { keyId, action, target, textHmac: audit.hmac(request.body) } as const;
    if (askedMs === undefined) audit.note({ ...note, outcome: 'asked', isNew, ask: ask.id }, atMs);
    return async () => {
      if (waits) return this.#hold(request, destination, ask, askedMs ?? atMs);
      try {
        const answer = await this.#queue(request, destination, idempotencyKey);
        if (answer.kind === 'deferred') audit.noteScheduling(keyId, 'scheduled', target);
        else if (!answer.replayed) audit.noteEnd({ ...note, outcome: answer.confirmed ? 'sent' : 'pending' });
        return answer;
      } catch (error) {
        // A repeated request does not count towards the caps, so only a folded line may record that it failed.
        if (isScheduled || askedMs !== undefined) audit.noteRefusal(keyId, codeOf(error), target);
        else audit.noteEnd({ ...note, outcome: codeOf(error) });
        throw error;
      }
    };
  }

  /**
   * Looks up whether this request was allowed before. Also returns the idempotency key that prevents a second send.
   * `withdrawnMs` is when the request's newest approval was created, if that approval was withdrawn.
   */
  #earlierSend(ask: Ask, nowMs: number, withdrawnMs: number | undefined) {
    const askedMs = this.#parts.auditStore.ask(ask.id, ask.sinceMs);
    const keyAt = (ms: number): IdempotencyKey => ({ kind: 'ask', key: ask.hasKey ? ask.id : `${ask.id}\0${ms}` });
    const idempotencyKey = keyAt(askedMs ?? nowMs);
    const outcome = this.#core.idempotency.find(idempotencyKey, nowMs)?.outcome;
    // Without an Idempotency-Key, the same text may be tried again after a failure.
    const hasFailed = outcome?.state === 'problem' && !mayHaveBeenSent(JSON.parse(outcome.problem) as FailedSend);
    // The request's line in the audit log is written before its approval. So a line newer than the withdrawn approval
    // belongs to a later request.
    const isWithdrawn = withdrawnMs !== undefined && askedMs !== undefined && askedMs <= withdrawnMs;
    if (!ask.hasKey && (hasFailed || isWithdrawn)) {
      const atMs = Math.max(nowMs, (askedMs ?? 0) + 1);
      return { askedMs: undefined, atMs, idempotencyKey: keyAt(atMs), isKnown: false };
    }
    return { askedMs, atMs: nowMs, idempotencyKey, isKnown: outcome !== undefined };
  }

  async #hold(request: SendRequest, destination: Destination, ask: Ask, askedMs: number): Promise<SendAnswer> {
    const { body: text, attachments, uploads = [] } = request;
    const files = { attachments, uploads };
    const { id, requestHash, hasKey } = ask;
    const keyId = this.#key.stored.id;
    try {
      if (uploads.some(({ isGone }) => isGone)) throw problem('upload_not_found');
      const options = sendOptions(request);
      const asked = { ask: id, requestHash, hasKey, askedMs };
      const held = await this.#parts.desk.hold({ keyId, destination, text, files, options, ...asked });
      return heldAnswer(held);
    } catch (error) {
      this.#parts.audit.noteRefusal(keyId, codeOf(error), destination.to);
      throw error;
    }
  }

  async #queue(request: SendRequest, { to }: Destination, idempotencyKey: IdempotencyKey): Promise<QueueAnswer> {
    const { sender, deferrals, host } = this.#core;
    const { directory, chats, shown } = this.#parts;
    const { id: keyId } = this.#key.stored;
    const queued = { ...request, recipient: to, idempotencyKey, keyId };
    if (request.sendAtMs !== undefined) {
      const deferred = await deferrals.add(queued, { keyId });
      return { kind: 'deferred', deferred, replayed: deferred.replayed };
    }
    const check = (): void => {
      assertStillAllowed({ directory, clock: host.clock }, this.#key, to);
      this.#assertStillDirect(to);
    };
    const { message, ...sent } = await sender.send({ ...queued, check });
    return { kind: 'sent', ...sent, message: narrowed(message, shown.message, chats) };
  }

  /**
   * Refuses a send if the owner began to require approval or switched on dry run while the send waited for its turn. A
   * repeated request then follows the new settings.
   */
  #assertStillDirect(to: string): void {
    if (this.#key.stored.dry_run || sendRight(this.#parts.directory, this.#key, to) !== 'yes') {
      throw problem('recipient_not_allowed');
    }
  }

  /**
   * Returns undefined while chat.db is unreadable: the message was sent, so a problem would say the wrong thing about
   * it.
   */
  async #sentMessage(id: string): Promise<Message | undefined> {
    try {
      return await this.#core.messages.message(id);
    } catch (error) {
      if (isChatDbAway(error)) return undefined;
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
        const message = await this.#sentMessage(earlier.message_id ?? '');
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

  /**
   * Checks the files of a send. A limited key may send only files in `send.attachment_roots`; without that setting,
   * none.
   */
  async #checkAttachments(paths: readonly string[]): Promise<void> {
    if (paths.length === 0) return;
    const { attachmentRoots } = this.#core.config.send;
    // Compares paths before it looks at files: an answer must not reveal whether a file outside the folders exists.
    if (!paths.every((path) => attachmentRoots.some((root) => isBeneath(path, root)))) {
      throw problem('attachment_not_allowed');
    }
    const mistakes = await this.#core.sender.attachmentMistakes(paths);
    if (mistakes.length > 0) throw invalidRequest(mistakes);
  }

  #askOf(request: SendRequest, { to }: Destination): Ask {
    const { id } = this.#key.stored;
    const nowMs = this.#core.host.clock.now();
    const { idempotencyKey } = request;
    const requestHash = this.#parts.audit.hmac(comparableSend(to, request));
    if (idempotencyKey === undefined) {
      const sinceMs = nowMs - SAME_ASK_MS;
      return { id: digest([id, requestHash]), sinceMs, heldSinceMs: sinceMs, hasKey: false, requestHash };
    }
    const ask = digest([id, 'key', idempotencyKey.key]);
    return { id: ask, sinceMs: nowMs - DAY_MS, heldSinceMs: nowMs - HELD_ASK_MS, hasKey: true, requestHash };
  }
}

function codeOf(error: unknown): string {
  return isAppError(error) ? error.code : 'internal_error';
}

function digest(parts: readonly string[]): string {
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex');
}

function isBeneath(path: string, root: string): boolean {
  const rest = relative(resolvePath(root), resolvePath(path));
  return rest !== '' && !isAbsolute(rest) && rest !== '..' && !rest.startsWith('../');
}
