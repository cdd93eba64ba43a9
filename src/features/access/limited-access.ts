import type { Caller } from '../../core/model/caller.ts';
import type { GuestBook } from '../../core/model/guests.ts';
import { OWNER } from '../../core/model/owner.ts';
import type { DueSend } from '../../core/model/ports/deferral-ports.ts';
import type { ChatDirectory } from '../../core/model/ports/directory-ports.ts';
import type { Clock } from '../../core/model/ports/host-ports.ts';
import { problem } from '../../core/model/problems.ts';
import type { StoredBytes } from '../../core/model/upload.ts';
import type { SelfChatService } from '../self-chat/port.ts';
import type { ApprovalDesk } from './approval-desk.ts';
import type { Audit } from './audit.ts';
import { callerApprovals } from './caller-approvals.ts';
import { assertWithinCaps } from './caps.ts';
import type { HeldQuestions } from './held-questions.ts';
import type { KeyCallers } from './key-callers.ts';
import type { KeyRing } from './key-ring.ts';
import type { LimitedKey } from './limited-key.ts';
import type { Approvals } from './ports.ts';
import { accessProblem } from './problems.ts';
import { allowedDestination, assertStillAllowed, isNewContact, isNewRecipient, sendRight } from './rights.ts';

export interface LimitedAccessParts {
  readonly keys: KeyRing;
  readonly audit: Audit;
  readonly desk: ApprovalDesk;
  readonly questions: HeldQuestions;
  readonly tapbacks: SelfChatService['tapbacks'];
  readonly callers: KeyCallers;
  readonly directory: ChatDirectory;
  readonly clock: Clock;
}

/** Limited keys and everything done under them. `limitedAccess` makes one of its parts. */
export class LimitedAccess implements GuestBook {
  readonly keys: KeyRing;
  readonly audit: Audit;
  readonly #parts: LimitedAccessParts;

  constructor(parts: LimitedAccessParts) {
    this.#parts = parts;
    this.keys = parts.keys;
    this.audit = parts.audit;
  }

  /** Returns the held sends that a key may see, or all for the owner. Throws `key_not_found`. */
  approvalsOf(keyId: string): Approvals {
    const { desk, clock, directory } = this.#parts;
    const key = keyId === OWNER ? undefined : this.keys.withId(keyId);
    if (key === undefined && keyId !== OWNER) throw accessProblem('key_not_found');
    return callerApprovals(desk, clock, key, (to) => isNewRecipient(directory, to));
  }

  heldSends(): number | undefined {
    return this.keys.hasEverHad() ? this.#parts.desk.held().length : undefined;
  }

  keptBytes(): readonly StoredBytes[] {
    return this.#parts.desk.keptBytes();
  }

  /** Continues approved sends and tapbacks after a restart. Called once all other parts are running. */
  async start(): Promise<void> {
    const { desk, tapbacks, questions } = this.#parts;
    await desk.resume();
    tapbacks.start(questions);
  }

  find(secret: string): Caller | undefined {
    const key = this.keys.find(secret);
    return key && this.#parts.callers.of(key);
  }

  callerOf(keyId: string): Caller | undefined {
    const { callers, clock } = this.#parts;
    const key = this.keys.withId(keyId);
    return key?.isAlive(clock.now()) === true ? callers.of(key) : undefined;
  }

  admitDue(entry: DueSend): () => void {
    if (entry.key_id === OWNER) return () => {};
    return deferredCheck(this.#parts, this.keys.withId(entry.key_id), entry);
  }

  noteDeferred({ key_id: keyId, to: target, text }: DueSend, outcome: string): void {
    if (!this.keys.hasEverHad()) return;
    if (outcome === 'cancelled') this.audit.noteScheduling(keyId, outcome, target);
    else this.audit.noteEnd({ keyId, action: 'schedule', target, outcome, textHmac: this.audit.hmac(text ?? '') });
  }

  async close(): Promise<void> {
    this.keys.close();
    await Promise.all([this.#parts.tapbacks.close(), this.#parts.desk.close()]);
    this.audit.close();
  }
}

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
function deferredCheck(
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
