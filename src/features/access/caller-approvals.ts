import { OWNER } from '../../core/model/owner.ts';
import type { Clock } from '../../core/model/ports/host-ports.ts';
import { problem } from '../../core/model/problems.ts';
import { hasEnded } from './approval.ts';
import { type ApprovalDesk, shownApproval } from './approval-desk.ts';
import type { LimitedKey } from './limited-key.ts';
import type { Approvals, StoredApproval } from './ports.ts';
import { accessProblem } from './problems.ts';

/**
 * Returns one caller's view of the held sends. Callers who may decide see all of them, others only their own. `key` is
 * undefined for the owner.
 */
export function callerApprovals(
  desk: ApprovalDesk,
  clock: Clock,
  key: LimitedKey | undefined,
  isNew: (to: string) => boolean | undefined,
): Approvals {
  const keyId = key?.stored.id ?? OWNER;
  const mayDecide = key === undefined || key.stored.scopes.includes('approve');
  const isVisible = ({ key_id }: StoredApproval): boolean => mayDecide || key_id === keyId;
  const visible = (id: string): StoredApproval => {
    const approval = desk.get(id);
    if (approval === undefined || !isVisible(approval)) throw accessProblem('approval_not_found');
    return approval;
  };
  const assertDecides = (): void => {
    if (!mayDecide) throw accessProblem('approval_not_found');
  };
  /**
   * Calls `find` now and after each change. Returns the last result of `find` once `isEnough` accepts it, the time is
   * up, or the desk closes. Throws `limited_key_refused` if the key ends in the meantime.
   */
  const until = async <Found>(
    waitMs: number,
    find: () => Found,
    isEnough: (found: Found) => boolean,
  ): Promise<Found> => {
    const endMs = clock.monotonic() + waitMs;
    for (let found = find(); ; found = find()) {
      const leftMs = endMs - clock.monotonic();
      if (leftMs <= 0 || isEnough(found) || desk.isClosed) return found;
      const cancel = key?.onEnd(() => desk.wake());
      await desk.changed(leftMs);
      cancel?.();
      if (key?.isAlive(clock.now()) === false) throw problem('limited_key_refused');
    }
  };
  return {
    async list({ state, waitMs }) {
      const found = await until(
        waitMs,
        () => desk.list(state).filter(isVisible),
        ({ length }) => length > 0,
      );
      return found.map((one) => shownApproval(one, mayDecide));
    },
    get: async (id, waitMs) => shownApproval(await until(waitMs, () => visible(id), hasEnded), mayDecide),
    async approve(id, shown) {
      assertDecides();
      return shownApproval(desk.approve(id, shown, keyId), true);
    },
    async deny(id) {
      assertDecides();
      return shownApproval(desk.deny(id, keyId), true);
    },
    async withdraw(id) {
      visible(id);
      desk.withdraw(id, keyId);
    },
    isNewContact: ({ to }) => isNew(to),
  };
}
