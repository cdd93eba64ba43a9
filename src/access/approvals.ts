import { hash, randomUUID } from 'node:crypto';
import { type Approval, type ApprovalState, hasEnded } from '../domain/approval.ts';
import { isoSecond } from '../domain/iso-second.ts';
import type { StoredApproval } from '../domain/ports/access.ts';
import type { GivenFiles } from '../domain/ports/sending.ts';
import { problem } from '../domain/problems.ts';
import { type SendPreferences, shownOptions } from '../domain/send-service.ts';
import { Wakeup } from '../runtime/wakeup.ts';
import { ApprovedSends, type ApprovedSendsParts } from './approved-sends.ts';
import type { Audit } from './audit.ts';
import type { Destination } from './policy.ts';

const LIFETIME_MS = 24 * 60 * 60 * 1000;
const MAX_HELD = 20;
/** Limit of all held files and uploads together (decisions L3 and R1). */
const MAX_HELD_BYTES = 1_000_000_000;

/** A send that is about to be held. */
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
  /** When its line in the audit log was written. */
  readonly askedMs: number;
}

export interface ApprovalDeskParts extends ApprovedSendsParts {
  readonly audit: Audit;
  /** Bytes of all uploads, which share the room. */
  readonly uploadedBytes: () => number;
  /** Called when a send starts waiting for a decision. */
  readonly onHeld: (approval: StoredApproval) => void;
}

/** The held sends (decision L3). Each is decided once, by one statement. */
export class ApprovalDesk {
  readonly #parts: ApprovalDeskParts;
  readonly #waiters: Wakeup;
  /** Holds in the making, by their request. */
  readonly #making = new Map<string, Promise<StoredApproval>>();
  readonly #sends: ApprovedSends;
  #isClosed = false;

  constructor(parts: ApprovalDeskParts) {
    this.#parts = parts;
    this.#waiters = new Wakeup(parts.clock);
    this.#sends = new ApprovedSends(parts, (approval, state) => {
      this.#note(approval, approval.key_id, state);
      this.#waiters.wake();
    });
  }

  /** Sends what an earlier process left approved. */
  async resume(): Promise<void> {
    this.expire();
    const { store, files, clock } = this.#parts;
    store.prune(clock.now());
    const open = [...store.list('held', 100_000), ...store.list('approved', 100_000)];
    await files.keepOnly(new Set([...open.map(({ id }) => id), ...this.#parts.scheduler.openIds()]));
    for (const approval of open) if (approval.state === 'approved') this.#sends.begin(approval);
  }

  /** Resolves once nothing is being sent and nobody waits any more. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#waiters.close();
    await this.#sends.close();
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  get(id: string): StoredApproval | undefined {
    this.expire();
    return this.#parts.store.get(id);
  }

  list(state: ApprovalState | undefined): readonly StoredApproval[] {
    this.expire();
    return this.#parts.store.list(state, 200);
  }

  held(): readonly StoredApproval[] {
    this.expire();
    return this.#parts.store.list('held', 100_000);
  }

  ofAsk(ask: string, sinceMs: number): StoredApproval | undefined {
    this.expire();
    return this.#parts.store.ofAsk(ask, sinceMs);
  }

  /** Makes waiting callers check again. */
  wake(): void {
    this.#waiters.wake();
  }

  /** Resolves when something changed, or after `ms`. */
  changed(ms: number): Promise<void> {
    const { clock, store } = this.#parts;
    const nextMs = (store.nextExpiryMs() ?? Number.POSITIVE_INFINITY) - clock.now();
    return this.#waiters.wait(Math.min(ms, Math.max(nextMs, 1)));
  }

  /** Holds a send. Simultaneous equal requests become one. */
  hold(holding: Holding): Promise<StoredApproval> {
    const known = this.#making.get(holding.ask);
    if (known !== undefined) return known;
    const making = this.#hold(holding).finally(() => this.#making.delete(holding.ask));
    this.#making.set(holding.ask, making);
    return making;
  }

  approve(id: string, shown: string, by: string): StoredApproval {
    const approval = this.#decided(id, 'approved', by, shown);
    this.#sends.begin(approval);
    return approval;
  }

  deny(id: string, by: string): StoredApproval {
    return this.#ended(id, 'denied', by);
  }

  withdraw(id: string, by: string): void {
    this.#ended(id, 'withdrawn', by);
  }

  /** Ends the held sends of a revoked key. */
  voidAll(keyId: string): void {
    const own = this.held().filter(({ key_id }) => key_id === keyId);
    for (const { id } of own) this.#ended(id, 'void', null);
  }

  /** Ends held sends that nobody decided in time. */
  expire(): void {
    const { store, clock } = this.#parts;
    for (const id of store.due(clock.now())) this.#end(id, 'expired', null);
  }

  async #hold({ keyId, destination, text, files: given, options, ...rest }: Holding): Promise<StoredApproval> {
    const { askedMs, ...asked } = rest;
    const { store, files, audit, clock, uploadedBytes } = this.#parts;
    this.#assertRoom(keyId);
    const id = randomUUID();
    const { attachments, uploads = [] } = given;
    // This send's uploads are released once they are held.
    const own = uploads.reduce((sum, { bytes }) => sum + bytes, 0);
    const left = MAX_HELD_BYTES - store.heldBytes() - uploadedBytes() + own;
    const held = attachments.length + uploads.length === 0 ? [] : await files.copy(id, given, left);
    const createdMs = Math.max(clock.now(), askedMs);
    // There is nothing to decide once its time is over.
    const expiresMs = Math.min(createdMs + LIFETIME_MS, options.sendUntilMs ?? Number.POSITIVE_INFINITY);
    const shown = {
      to: destination.to,
      members: destination.members,
      text,
      attachments: held,
      ...shownOptions(options),
    };
    const hasOptions = Object.keys(options).length > 0;
    const seen = [shown.to, shown.members, text, held, ...(hasOptions ? [options] : [])];
    const approval: StoredApproval = {
      id,
      key_id: keyId,
      state: 'held',
      ...shown,
      created_at: isoSecond(createdMs),
      expires_at: isoSecond(expiresMs),
      decided_at: null,
      decided_by: null,
      message_id: null,
      problem: null,
      shown: hash('sha256', JSON.stringify(seen), 'hex'),
      ...asked,
      options,
      textHmac: audit.hmac(text),
      createdMs,
      expiresMs,
    };
    try {
      this.#assertRoom(keyId);
      store.prune(createdMs);
      store.add(approval);
    } catch (error) {
      await files.remove(id);
      throw error;
    }
    this.#note(approval, keyId, 'held');
    this.#waiters.wake();
    this.#parts.onHeld(approval);
    return approval;
  }

  #assertRoom(keyId: string): void {
    if (this.#parts.store.countHeld(keyId) >= MAX_HELD) throw problem('too_many_held', { max: MAX_HELD });
  }

  #decided(id: string, state: ApprovalState, by: string | null, shown?: string): StoredApproval {
    const { store, clock } = this.#parts;
    const before = this.get(id);
    if (before === undefined) throw problem('approval_not_found');
    const nowMs = clock.now();
    const isMine = store.decide(id, state, { at: isoSecond(nowMs), by, nowMs, ...(shown !== undefined && { shown }) });
    const after = store.get(id) ?? before;
    if (isMine) {
      this.#note(before, by ?? before.key_id, state);
      this.#waiters.wake();
      return after;
    }
    if (after.state === 'held') throw problem('approval_changed');
    if (after.state === 'expired') throw problem('approval_expired');
    throw problem('already_decided', { state: after.state });
  }

  /** Stores a decision after which nothing is sent. */
  #ended(id: string, state: ApprovalState, by: string | null): StoredApproval {
    const approval = this.#decided(id, state, by);
    void this.#parts.files.remove(id);
    return approval;
  }

  #end(id: string, state: ApprovalState, by: string | null): void {
    const { store, clock, files } = this.#parts;
    const nowMs = clock.now();
    const approval = store.get(id);
    if (approval === undefined || !store.decide(id, state, { at: isoSecond(nowMs), by, nowMs })) return;
    this.#note(approval, approval.key_id, state);
    void files.remove(id);
    this.#waiters.wake();
  }

  #note({ id, key_id, textHmac }: StoredApproval, keyId: string, outcome: string): void {
    this.#parts.audit.note({
      keyId: outcome === 'held' ? key_id : keyId,
      action: 'approval',
      target: id,
      outcome,
      textHmac,
    });
  }
}

/** The approval in the form that callers see. */
export function shownApproval(stored: StoredApproval, mayDecide: boolean): Approval {
  const { options: _options, ask: _ask, requestHash: _hash, hasKey: _hasKey, textHmac: _hmac, ...all } = stored;
  const { createdMs: _created, expiresMs: _expires, shown, ...record } = all;
  return mayDecide && !hasEnded(stored) ? { ...record, shown } : record;
}
