import type { SendAnswer } from '../../core/model/ports/sending-ports.ts';
import { approvalInConsole } from './approval.ts';
import { shownApproval } from './approval-desk.ts';
import type { StoredApproval } from './ports.ts';

/** Returns the answer to a send that waits for the owner's decision (decision L3), or that has been decided. */
export function heldAnswer(stored: StoredApproval): SendAnswer {
  const approval = shownApproval(stored, false);
  const { id, expires_at: expires } = approval;
  const page = approvalInConsole(id);
  const deferred = {
    id,
    body: { approval, console: page },
    path: `approvals/${id}`,
    told: {
      text: `Held: nothing was sent yet. The owner can decide until ${expires}; approvals_wait with id "${id}" returns the outcome.`,
      state: 'held',
      approval_id: id,
    },
    notice: `This message is held for approval: it is sent once the owner of Postern approves it, at ${page}. Do not send it again.`,
    replayed: false,
  };
  return { kind: 'deferred', deferred, replayed: false };
}
