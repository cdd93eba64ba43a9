import { invalidRequest } from '../../../domain/problems.ts';
import { approvalQuery, approvalsQuery, approveBody } from '../../../schema/approval.ts';
import { checkBody } from '../../../schema/mistakes.ts';
import { readQuery } from '../../../schema/query.ts';
import type { Handlers } from '../router.ts';

const MS_PER_S = 1000;

/** Sends that wait for a decision (decision L3). */
export function approvalRoutes(): Pick<
  Handlers,
  'listApprovals' | 'getApproval' | 'approveSend' | 'denySend' | 'withdrawSend'
> {
  return {
    async listApprovals({ query, caller: { approvals } }) {
      const { state, wait = 0 } = readQuery(approvalsQuery, query);
      return { status: 200, body: await approvals.list({ state, waitMs: wait * MS_PER_S }) };
    },

    async getApproval(exchange) {
      const { wait = 0 } = readQuery(approvalQuery, exchange.query);
      return { status: 200, body: await exchange.caller.approvals.get(exchange.param('id'), wait * MS_PER_S) };
    },

    async approveSend(exchange) {
      const checked = checkBody(approveBody, await exchange.json());
      if (!checked.ok) throw invalidRequest(checked.mistakes);
      const { approvals } = exchange.caller;
      return { status: 200, body: await approvals.approve(exchange.param('id'), checked.value.shown) };
    },

    async denySend(exchange) {
      return { status: 200, body: await exchange.caller.approvals.deny(exchange.param('id')) };
    },

    async withdrawSend(exchange) {
      await exchange.caller.approvals.withdraw(exchange.param('id'));
      return { status: 204 };
    },
  };
}
