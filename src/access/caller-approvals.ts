import { type Approval, hasEnded } from '../domain/approval.ts';
import { OWNER } from '../domain/audit.ts';
import type { Approvals, StoredApproval } from '../domain/ports/access.ts';
import type { Clock } from '../domain/ports/host.ts';
import { problem } from '../domain/problems.ts';
import { type ApprovalDesk, shownApproval } from './approvals.ts';
import type { LimitedKey } from './limited-key.ts';

/** The held sends of one caller: all of them for callers who may decide, else only its own. */
export class CallerApprovals implements Approvals {
  readonly #desk: ApprovalDesk;
  readonly #clock: Clock;
  readonly #keyId: string;
  readonly #mayDecide: boolean;
  readonly #key: LimitedKey | undefined;

  /** `key` is undefined for the owner. */
  constructor(desk: ApprovalDesk, clock: Clock, key: LimitedKey | undefined) {
    this.#desk = desk;
    this.#clock = clock;
    this.#key = key;
    this.#keyId = key?.stored.id ?? OWNER;
    this.#mayDecide = key === undefined || key.stored.scopes.includes('approve');
  }

  async list({ state, waitMs }: Parameters<Approvals['list']>[0]): Promise<readonly Approval[]> {
    const find = () => this.#desk.list(state).filter((one) => this.#isVisible(one));
    const found = await this.#until(waitMs, find, ({ length }) => length > 0);
    return found.map((one) => shownApproval(one, this.#mayDecide));
  }

  async get(id: string, waitMs: number): Promise<Approval> {
    const found = await this.#until(waitMs, () => this.#visible(id), hasEnded);
    return shownApproval(found, this.#mayDecide);
  }

  async approve(id: string, shown: string): Promise<Approval> {
    this.#assertDecides();
    return shownApproval(this.#desk.approve(id, shown, this.#keyId), true);
  }

  async deny(id: string): Promise<Approval> {
    this.#assertDecides();
    return shownApproval(this.#desk.deny(id, this.#keyId), true);
  }

  async withdraw(id: string): Promise<void> {
    this.#visible(id);
    this.#desk.withdraw(id, this.#keyId);
  }

  #isVisible({ key_id }: StoredApproval): boolean {
    return this.#mayDecide || key_id === this.#keyId;
  }

  #visible(id: string): StoredApproval {
    const approval = this.#desk.get(id);
    if (approval === undefined || !this.#isVisible(approval)) throw problem('approval_not_found');
    return approval;
  }

  #assertDecides(): void {
    if (!this.#mayDecide) throw problem('approval_not_found');
  }

  /**
   * Checks again after each change, until the result is enough or the time is up. A key that ended meanwhile gets
   * nothing.
   */
  async #until<Found>(waitMs: number, find: () => Found, isEnough: (found: Found) => boolean): Promise<Found> {
    const endMs = this.#clock.monotonic() + waitMs;
    for (let found = find(); ; found = find()) {
      const leftMs = endMs - this.#clock.monotonic();
      if (leftMs <= 0 || isEnough(found) || this.#desk.isClosed) return found;
      const cancel = this.#key?.onEnd(() => this.#desk.wake());
      await this.#desk.changed(leftMs);
      cancel?.();
      if (this.#key?.isAlive(this.#clock.now()) === false) throw problem('unauthorized');
    }
  }
}
