import { isAppError } from '../../core/model/errors.ts';
import type { Log } from '../../core/model/ports/host-ports.ts';
import type { OwnerQuestion, Questions } from '../self-chat/port.ts';
import type { ApprovalDesk } from './approval-desk.ts';
import { type Audit, TAPBACK } from './audit.ts';
import type { StoredApproval } from './ports.ts';
import { questionText } from './question.ts';

/** Problem codes for a decision that came too late. A tapback that causes one of them is only logged. */
const TOO_LATE: ReadonlySet<string> = new Set(['already_decided', 'approval_expired', 'approval_not_found']);

/** The held sends as questions that the owner can decide by tapback (decision L6). */
export class HeldQuestions implements Questions {
  readonly #desk: ApprovalDesk;
  readonly #audit: Audit;
  readonly #log: Log;
  readonly #nameOf: (keyId: string) => string;

  constructor(desk: ApprovalDesk, audit: Audit, log: Log, nameOf: (keyId: string) => string) {
    this.#desk = desk;
    this.#audit = audit;
    this.#log = log;
    this.#nameOf = nameOf;
  }

  /** Returns the question about a held send. */
  about(approval: StoredApproval): OwnerQuestion {
    return { id: approval.id, text: questionText(approval, this.#nameOf(approval.key_id)) };
  }

  open(): readonly OwnerQuestion[] {
    return this.#desk.held().map((approval) => this.about(approval));
  }

  assertOpen(id: string): void {
    this.#desk.assertHeld(id);
  }

  decide(id: string, isAccepted: boolean): void {
    const approval = this.#desk.get(id);
    if (approval === undefined) return;
    try {
      if (isAccepted) this.#desk.approve(id, approval.shown, TAPBACK);
      else this.#desk.deny(id, TAPBACK);
    } catch (error) {
      if (!isAppError(error) || !TOO_LATE.has(error.code)) throw error;
      this.#log.info('a tapback came too late', { approvalId: id, code: error.code });
    }
  }

  hmac(text: string): string {
    return this.#audit.hmac(text);
  }
}
