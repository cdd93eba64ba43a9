import * as z from 'zod';
import { APPROVAL_STATES, type Approval } from '../../../client/access-types.ts';
import { tool } from '../../../core/tools/tool.ts';
import { timeout, Wait } from '../../../core/tools/wait.ts';
import { APPROVALS } from '../port.ts';

export const approvalsWait = tool({
  name: 'approvals_wait',
  title: 'Wait for a decision',
  description: 'Waits until the owner has decided on a message that messages_send held. This key cannot decide.',
  scope: 'send',
  input: z.object({ id: z.string().max(100), timeout_s: timeout }),
  output: z.object({ text: z.string(), state: z.enum(APPROVAL_STATES), message_id: z.string().optional() }),
  async run({ id, timeout_s: seconds }, context) {
    const approvals = context.caller.port(APPROVALS).own;
    const wait = new Wait(seconds, context);
    try {
      const ended = approvals.get(id, seconds * 1000);
      const approval = await Promise.race([ended, wait.over.then(() => approvals.get(id, 0))]);
      context.caller.assertAlive?.();
      const { state, message_id: messageId } = approval;
      return { text: sentenceOf(approval), state, ...(messageId !== null && { message_id: messageId }) };
    } finally {
      wait.end();
    }
  },
});

function sentenceOf({ state, message_id: messageId, problem }: Approval): string {
  switch (state) {
    case 'held':
      return 'Not decided yet. You may wait again, but do not send the message again.';
    case 'approved':
      return 'Approved; it is being sent.';
    case 'scheduled':
      return 'Approved; it is sent later, under the same id.';
    case 'sent':
      return `Approved and sent${messageId === null ? '' : ` as message [${messageId}]`}.`;
    case 'pending':
      return 'Approved and handed to Messages. It is not known yet whether it went out.';
    case 'failed':
      return `Approved, but it was not sent${problem === null ? '' : ` (${problem})`}.`;
    case 'unknown':
      return 'Approved, but it is not known whether it was sent. Do not send it again.';
    case 'denied':
      return 'Denied: it was not sent.';
    case 'expired':
      return 'Nobody decided in time: it was not sent.';
    case 'withdrawn':
      return 'Withdrawn: it was not sent.';
    case 'void':
      return 'Not sent: this key may not write there any more, or the group changed.';
  }
}
