import { hash, randomUUID } from 'node:crypto';
import type { Approval, ApprovalState, AuditAction } from '../../client/access-types.ts';
import type { Core } from '../../core/core.ts';
import type { Destination } from '../../core/model/destination.ts';
import { DAY_MS } from '../../core/model/durations.ts';
import { isoSecond } from '../../core/model/iso-second.ts';
import type { GivenFiles } from '../../core/model/ports/sending-ports.ts';
import { problem } from '../../core/model/problems.ts';
import { type SendPreferences, shownOptions } from '../../core/model/send-service.ts';
import type { StoredBytes } from '../../core/model/upload.ts';
import { Wakeup } from '../../core/runtime/wakeup.ts';
import { hasEnded } from './approval.ts';
import { ApprovedSends, type ApprovedSendsParts, type SendingCore } from './approved-sends.ts';
import type { Audit } from './audit.ts';
import type { ApprovalStore, StoredApproval } from './ports.ts';
import { accessProblem } from './problems.ts';

const LIFETIME_MS = DAY_MS;
const MAX_HELD = 20;
const MAX_LISTED = 200;

/**
 * Key: an outcome of an approved send. Value: its action in the audit log. All other outcomes are recorded as an
 * `approval`.
 */
const OF_THE_SEND: Readonly<Partial<Record<ApprovalState, AuditAction>>> = {
  sent: 'send',
  pending: 'send',
  failed: 'send',
  unknown: 'send',
  scheduled: 'schedule',
};

/** A send that is about to wait for a decision. */
export interface Holding {
  readonly keyId: string;
  readonly destination: Destination;
  readonly text: string;
  readonly files: GivenFiles;
  readonly options: SendPreferences;
  readonly ask: string;
  readonly requestHash: string;
  /** True if an Idempotency-Key identifies the request. */
  readonly hasKey: boolean;
  /** Time at which the request's line in the audit log was written, in Unix milliseconds. */
  readonly askedMs: number;
  /** Throws if the send can only fail. */
  readonly check: () => Promise<void>;
}

type DeskCore = SendingCore & Pick<Core, 'uploads'>;

export interface ApprovalDeskParts extends ApprovedSendsParts {
  readonly audit: Audit;
  /** Called when a send begins to wait for a decision. */
  readonly onHeld: (approval: StoredApproval) => void;
}

/**
 * Holds sends until somebody decides (decision L3). Each decision is one SQL statement, so only the first of two
 * decisions counts.
 */
export class ApprovalDesk {
  readonly #core: DeskCore;
  readonly #parts: ApprovalDeskParts;
  readonly #sends: ApprovedSends;
  readonly #waiters: Wakeup;
  /** Held sends whose records are still being created. Key: `Holding.ask`. */
  readonly #making = new Map<string, { readonly requestHash: string; readonly record: Promise<StoredApproval> }>();
  #isClosed = false;

  constructor(core: DeskCore, parts: ApprovalDeskParts) {
    this.#core = core;
    this.#parts = parts;
    this.#waiters = new Wakeup(core.host.clock);
    this.#sends = new ApprovedSends(core, parts, (approval, state) => {
      this.#note(approval, approval.key_id, state);
      this.#waiters.wake();
    });
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** Makes callers that wait in `changed` check the approvals again. */
  wake(): void {
    this.#waiters.wake();
  }

  get(id: string): StoredApproval | undefined {
    return this.#current().get(id);
  }

  list(state: ApprovalState | undefined): readonly StoredApproval[] {
    return this.#current().list(state, MAX_LISTED);
  }

  ofAsk(ask: string, sinceMs: number): StoredApproval | undefined {
    return this.#current().ofAsk(ask, sinceMs);
  }

  keptBytes(): readonly StoredBytes[] {
    return this.#parts.store.keptBytes();
  }

  deny(id: string, by: string): StoredApproval {
    return this.#end(id, 'denied', by);
  }

  withdraw(id: string, by: string): void {
    this.#end(id, 'withdrawn', by);
  }

  /**
   * Resumes the work after the service has started. Deletes the files of sends that have ended, then sends the messages
   * that were approved but not yet sent.
   */
  async resume(): Promise<void> {
    const { keptFiles, deferrals, host } = this.#core;
    const { store } = this.#parts;
    this.#current().prune(host.clock.now());
    const open = [...store.list('held', 100_000), ...store.list('approved', 100_000)];
    await keptFiles.keepOnly(new Set([...open.map(({ id }) => id), ...deferrals.openIds()]));
    for (const approval of open) if (approval.state === 'approved') this.#sends.begin(approval);
  }

  /** Resolves once nothing is being sent and no caller is waiting. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#waiters.close();
    await this.#sends.close();
  }

  held(): readonly StoredApproval[] {
    return this.#current().list('held', 100_000);
  }

  /** Throws unless the send still waits for a decision. */
  assertHeld(id: string): void {
    const { state } = this.#current().get(id) ?? { state: 'void' };
    if (state !== 'held') throw accessProblem('already_decided', { state });
  }

  /** Resolves when an approval has changed or expires, or after `ms`. */
  changed(ms: number): Promise<void> {
    const nextMs = (this.#parts.store.nextExpiryMs() ?? Number.POSITIVE_INFINITY) - this.#core.host.clock.now();
    return this.#waiters.wait(Math.min(ms, Math.max(nextMs, 1)));
  }

  /**
   * Holds a send. Equal requests at the same time become one held send; of two others with one `Idempotency-Key`, the
   * second fails with `idempotency_key_reused`.
   */
  async hold(holding: Holding): Promise<StoredApproval> {
    const { ask, requestHash } = holding;
    const known = this.#making.get(ask);
    if (known !== undefined && known.requestHash !== requestHash) throw problem('idempotency_key_reused');
    if (known !== undefined) return known.record;
    const record = this.#make(holding).finally(() => this.#making.delete(ask));
    this.#making.set(ask, { requestHash, record });
    return record;
  }

  approve(id: string, shown: string, by: string): StoredApproval {
    const approval = this.#decide(id, 'approved', by, shown);
    this.#sends.begin(approval);
    return approval;
  }

  /** Ends the held sends of a revoked key, and returns their number. */
  voidAll(keyId: string): number {
    const own = this.held().filter(({ key_id }) => key_id === keyId);
    for (const { id } of own) this.#end(id, 'void', null);
    return own.length;
  }

  /** Ends the held sends that were not decided in time, then returns the store. */
  #current(): ApprovalStore {
    const { store } = this.#parts;
    for (const id of store.due(this.#core.host.clock.now())) {
      const approval = store.get(id);
      if (approval !== undefined && this.#storeDecision(approval, 'expired', null)) {
        void this.#core.keptFiles.remove(id);
      }
    }
    return store;
  }

  async #make(holding: Holding): Promise<StoredApproval> {
    const { keptFiles, host } = this.#core;
    const { store, audit, check, onHeld } = this.#parts;
    const { keyId, destination, text, files: given, askedMs } = holding;
    this.#assertRoom(keyId);
    await holding.check();
    const id = randomUUID();
    const { attachments, uploads = [] } = given;
    const left = this.#core.uploads.left(keyId, uploads);
    const held = attachments.length + uploads.length === 0 ? [] : await keptFiles.copy(id, given, left);
    const createdMs = Math.max(host.clock.now(), askedMs);
    const approval = newApproval(holding, { id, attachments: held, createdMs, textHmac: audit.hmac(text) });
    try {
      // The key may have been revoked or changed since, and other files stored.
      check(keyId, destination.to, destination.members);
      this.#assertRoom(keyId);
      this.#core.uploads.assertFit(held, keyId, uploads);
      store.prune(createdMs);
      store.add(approval);
    } catch (error) {
      await keptFiles.remove(id);
      throw error;
    }
    this.#note(approval, keyId, 'held');
    this.#waiters.wake();
    onHeld(approval);
    return approval;
  }

  #assertRoom(keyId: string): void {
    if (this.#parts.store.countHeld(keyId) >= MAX_HELD) throw accessProblem('too_many_held', { max: MAX_HELD });
  }

  #decide(id: string, state: ApprovalState, by: string | null, shown?: string): StoredApproval {
    const before = this.#current().get(id);
    if (before === undefined) throw accessProblem('approval_not_found');
    const isMine = this.#storeDecision(before, state, by, shown);
    const after = this.#parts.store.get(id) ?? before;
    if (isMine) return after;
    if (after.state === 'held') throw accessProblem('approval_changed');
    if (after.state === 'expired') throw accessProblem('approval_expired');
    throw accessProblem('already_decided', { state: after.state });
  }

  /** Stores a decision not to send, and returns the approval. */
  #end(id: string, state: ApprovalState, by: string | null): StoredApproval {
    const approval = this.#decide(id, state, by);
    void this.#core.keptFiles.remove(id);
    return approval;
  }

  /**
   * Stores a decision. Returns false if the send is no longer held, or if it cannot be approved because it has expired
   * or `shown` does not match.
   */
  #storeDecision(approval: StoredApproval, state: ApprovalState, by: string | null, shown?: string): boolean {
    const { id, key_id: keyId } = approval;
    const nowMs = this.#core.host.clock.now();
    const decision = { at: isoSecond(nowMs), by, nowMs, ...(shown !== undefined && { shown }) };
    if (!this.#parts.store.decide(id, state, decision)) return false;
    this.#note(approval, by ?? keyId, state);
    this.#waiters.wake();
    return true;
  }

  #note({ id, to, textHmac }: StoredApproval, keyId: string, outcome: ApprovalState): void {
    const action = OF_THE_SEND[outcome];
    this.#parts.audit.note({
      keyId,
      ...(action === undefined ? { action: 'approval', target: id } : { action, target: to }),
      outcome,
      textHmac,
    });
  }
}

/** Creates the record of a send that is being held. */
function newApproval(
  { keyId, destination, text, options, ask, requestHash, hasKey }: Holding,
  { attachments, createdMs, ...made }: Pick<StoredApproval, 'id' | 'attachments' | 'createdMs' | 'textHmac'>,
): StoredApproval {
  const { to, members } = destination;
  // The approval expires with the send (`sendUntilMs`) at the latest, because an expired send needs no decision.
  const expiresMs = Math.min(createdMs + LIFETIME_MS, options.sendUntilMs ?? Number.POSITIVE_INFINITY);
  const hasOptions = Object.keys(options).length > 0;
  const seen = [to, members, text, attachments, ...(hasOptions ? [options] : [])];
  return {
    ...made,
    key_id: keyId,
    state: 'held',
    to,
    members,
    text,
    attachments,
    ...shownOptions(options),
    created_at: isoSecond(createdMs),
    expires_at: isoSecond(expiresMs),
    decided_at: null,
    decided_by: null,
    message_id: null,
    problem: null,
    shown: hash('sha256', JSON.stringify(seen), 'hex'),
    ask,
    requestHash,
    hasKey,
    options,
    createdMs,
    expiresMs,
  };
}

/** Returns the approval for a caller. Includes `shown` only while the caller may still decide about the send. */
export function shownApproval(stored: StoredApproval, mayDecide: boolean): Approval {
  const { options: _options, ask: _ask, requestHash: _hash, hasKey: _hasKey, textHmac: _hmac, ...all } = stored;
  const { createdMs: _created, expiresMs: _expires, shown, ...record } = all;
  return mayDecide && !hasEnded(stored) ? { ...record, shown } : record;
}
