import { hash, randomUUID } from 'node:crypto';
import type { Approval, ApprovalState, AuditAction } from '../../client/access-types.ts';
import { isoSecond } from '../../core/model/iso-second.ts';
import type { GivenFiles } from '../../core/model/ports/sending-ports.ts';
import { type SendPreferences, shownOptions } from '../../core/model/send-service.ts';
import { Wakeup } from '../../core/runtime/wakeup.ts';
import { hasEnded } from './approval.ts';
import { type ApprovedSendsParts, approvedSends } from './approved-sends.ts';
import type { Audit } from './audit.ts';
import type { Destination } from './policy.ts';
import type { ApprovalStore, StoredApproval } from './ports.ts';
import { accessProblem } from './problems.ts';

const LIFETIME_MS = 24 * 60 * 60 * 1000;
const MAX_HELD = 20;
/**
 * Maximum size in bytes of the files of held sends, the files of deferred sends and all uploads together (decisions L3
 * and R1).
 */
const MAX_HELD_BYTES = 1_000_000_000;

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
}

export interface ApprovalDeskParts extends ApprovedSendsParts {
  readonly audit: Audit;
  /**
   * Returns the size in bytes of all uploads and of the files of deferred sends. Both count towards `MAX_HELD_BYTES`.
   */
  readonly uploadedBytes: () => number;
  /** Called when a send begins to wait for a decision. */
  readonly onHeld: (approval: StoredApproval) => void;
}

/**
 * Holds sends until somebody decides (decision L3). Each decision is one SQL statement, so only the first of two
 * decisions counts.
 */
export function approvalDesk(parts: ApprovalDeskParts) {
  const { store, files, clock, audit, uploadedBytes, deferral, onHeld } = parts;
  /** Held sends whose records are still being created. Key: `Holding.ask`. Value: a promise of the record. */
  const making = new Map<string, Promise<StoredApproval>>();
  let isClosed = false;
  const waiters = new Wakeup(clock);
  const sends = approvedSends(parts, (approval, state) => {
    note(approval, approval.key_id, state);
    waiters.wake();
  });
  return {
    resume,
    close,
    changed,
    hold,
    held,
    approve,
    voidAll,
    isClosed: () => isClosed,
    /** Makes callers that wait in `changed` check the approvals again. */
    wake: () => waiters.wake(),
    get: (id: string) => current().get(id),
    list: (state: ApprovalState | undefined) => current().list(state, 200),
    ofAsk: (ask: string, sinceMs: number) => current().ofAsk(ask, sinceMs),
    deny: (id: string, by: string) => ended(id, 'denied', by),
    withdraw: (id: string, by: string) => void ended(id, 'withdrawn', by),
  };

  /**
   * Resumes the work after the service has started. Deletes the files of sends that have ended, then sends the messages
   * that were approved but not yet sent.
   */
  async function resume(): Promise<void> {
    current().prune(clock.now());
    const open = [...store.list('held', 100_000), ...store.list('approved', 100_000)];
    await files.keepOnly(new Set([...open.map(({ id }) => id), ...deferral.openIds()]));
    for (const approval of open) if (approval.state === 'approved') sends.begin(approval);
  }

  /** Resolves once nothing is being sent and no caller is waiting. */
  async function close(): Promise<void> {
    isClosed = true;
    waiters.close();
    await sends.close();
  }

  function held(): readonly StoredApproval[] {
    return current().list('held', 100_000);
  }

  /** Resolves when an approval has changed or expires, or after `ms`. */
  function changed(ms: number): Promise<void> {
    const nextMs = (store.nextExpiryMs() ?? Number.POSITIVE_INFINITY) - clock.now();
    return waiters.wait(Math.min(ms, Math.max(nextMs, 1)));
  }

  /** Holds a send. Equal requests at the same time become one held send. */
  function hold(holding: Holding): Promise<StoredApproval> {
    const known = making.get(holding.ask);
    if (known !== undefined) return known;
    const held = make(holding).finally(() => making.delete(holding.ask));
    making.set(holding.ask, held);
    return held;
  }

  function approve(id: string, shown: string, by: string): StoredApproval {
    const approval = decided(id, 'approved', by, shown);
    sends.begin(approval);
    return approval;
  }

  /** Ends the held sends of a revoked key, and returns their number. */
  function voidAll(keyId: string): number {
    const own = held().filter(({ key_id }) => key_id === keyId);
    for (const { id } of own) ended(id, 'void', null);
    return own.length;
  }

  /** Ends the held sends that were not decided in time, then returns the store. */
  function current(): ApprovalStore {
    for (const id of store.due(clock.now())) {
      const approval = store.get(id);
      if (approval !== undefined && settle(approval, 'expired', null)) void files.remove(id);
    }
    return store;
  }

  async function make(holding: Holding): Promise<StoredApproval> {
    const { keyId, text, files: given, askedMs } = holding;
    assertRoom(keyId);
    const id = randomUUID();
    const { attachments, uploads = [] } = given;
    // `uploadedBytes` includes this send's uploads. Adds their size back, because they become part of the held files.
    const own = uploads.reduce((sum, { bytes }) => sum + bytes, 0);
    const left = MAX_HELD_BYTES - store.heldBytes() - uploadedBytes() + own;
    const held = attachments.length + uploads.length === 0 ? [] : await files.copy(id, given, left);
    const createdMs = Math.max(clock.now(), askedMs);
    const approval = newApproval(holding, { id, attachments: held, createdMs, textHmac: audit.hmac(text) });
    try {
      assertRoom(keyId);
      store.prune(createdMs);
      store.add(approval);
    } catch (error) {
      await files.remove(id);
      throw error;
    }
    note(approval, keyId, 'held');
    waiters.wake();
    onHeld(approval);
    return approval;
  }

  function assertRoom(keyId: string): void {
    if (store.countHeld(keyId) >= MAX_HELD) throw accessProblem('too_many_held', { max: MAX_HELD });
  }

  function decided(id: string, state: ApprovalState, by: string | null, shown?: string): StoredApproval {
    const before = current().get(id);
    if (before === undefined) throw accessProblem('approval_not_found');
    const isMine = settle(before, state, by, shown);
    const after = store.get(id) ?? before;
    if (isMine) return after;
    if (after.state === 'held') throw accessProblem('approval_changed');
    if (after.state === 'expired') throw accessProblem('approval_expired');
    throw accessProblem('already_decided', { state: after.state });
  }

  /** Stores a decision not to send, and returns the approval. */
  function ended(id: string, state: ApprovalState, by: string | null): StoredApproval {
    const approval = decided(id, state, by);
    void files.remove(id);
    return approval;
  }

  /**
   * Stores a decision. Returns false if the send is no longer held, or if it cannot be approved because it has expired
   * or `shown` does not match.
   */
  function settle(approval: StoredApproval, state: ApprovalState, by: string | null, shown?: string): boolean {
    const { id, key_id: keyId } = approval;
    const nowMs = clock.now();
    const isMine = store.decide(id, state, { at: isoSecond(nowMs), by, nowMs, ...(shown !== undefined && { shown }) });
    if (!isMine) return false;
    note(approval, by ?? keyId, state);
    waiters.wake();
    return true;
  }

  function note({ id, to, textHmac }: StoredApproval, keyId: string, outcome: ApprovalState): void {
    const action = OF_THE_SEND[outcome];
    audit.note({
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

export type ApprovalDesk = ReturnType<typeof approvalDesk>;

/** Returns the approval for a caller. Includes `shown` only while the caller may still decide about the send. */
export function shownApproval(stored: StoredApproval, mayDecide: boolean): Approval {
  const { options: _options, ask: _ask, requestHash: _hash, hasKey: _hasKey, textHmac: _hmac, ...all } = stored;
  const { createdMs: _created, expiresMs: _expires, shown, ...record } = all;
  return mayDecide && !hasEnded(stored) ? { ...record, shown } : record;
}
