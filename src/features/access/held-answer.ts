import type { Approval } from '../../client/access-types.ts';
import type { SendAnswer } from '../../core/model/ports/sending-ports.ts';
import { approvalInConsole } from './approval.ts';
import { shownApproval } from './approval-desk.ts';
import type { StoredApproval } from './ports.ts';

/**
 * Returns the answer to a send that waits for the owner's decision (decision L3), or to a repeated one that the owner
 * has approved: it may have been sent, so the answer never says that it was not.
 */
export function heldAnswer(stored: StoredApproval): SendAnswer {
  const approval = shownApproval(stored, false);
  const { id, state } = approval;
  const page = approvalInConsole(id);
  const { told, notice } = state === 'held' ? waiting(approval, page) : approved(approval, page);
  const deferred = {
    id,
    body: { approval, console: page },
    path: `approvals/${id}`,
    told: { ...told, approval_id: id },
    notice,
    replayed: false,
  };
  return { kind: 'deferred', deferred, replayed: false };
}

function waiting({ id, expires_at: expires }: Approval, page: string) {
  return {
    told: {
      text: `Held: nothing was sent yet. The owner can decide until ${expires}; approvals_wait with id "${id}" returns the outcome.`,
      state: 'held',
    },
    notice: `This message is held for approval: it is sent once the owner of Postern approves it, at ${page}. Do not send it again.`,
  };
}

function approved({ id, state }: Approval, page: string) {
  return {
    told: {
      text: `The owner has approved this message, and it is not sent again. approvals_wait with id "${id}" returns the outcome.`,
      state: state === 'scheduled' ? 'scheduled' : 'pending',
    },
    notice: `The owner of Postern has approved this message, and it is not sent again. Its outcome is at ${page}.`,
  };
}
