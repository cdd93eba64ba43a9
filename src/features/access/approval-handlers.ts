import type { Handler } from '../../core/http/router.ts';
import { allowedWait } from '../../core/model/caller.ts';
import { MS_PER_S } from '../../core/model/durations.ts';
import { namesFor } from '../../core/model/names.ts';
import { readBody } from '../../core/schema/mistakes.ts';
import { readQuery } from '../../core/schema/query-parameters.ts';
import { APPROVALS } from './port.ts';
import { approvalQuery, approvalsQuery, approveBody } from './schema/approval-schema.ts';

/** The handlers for sends that wait for a decision (decision L3). */
export const APPROVAL_HANDLERS = {
  async listApprovals({ query, caller }) {
    const { naming } = caller;
    const approvals = caller.port(APPROVALS).own;
    const { state, wait = 0, include } = readQuery(approvalsQuery, query);
    const list = await approvals.list({ state, waitMs: allowedWait(caller, wait) * MS_PER_S });
    if (include === undefined) return { status: 200, body: list };
    await naming.ready();
    const body = list.map((approval) => ({
      ...approval,
      names: namesFor(approval.members, naming.names),
      ...(approval.state === 'held' && { new_contact: approvals.isNewContact(approval) }),
    }));
    return { status: 200, body };
  },

  async getApproval(exchange) {
    const { wait = 0 } = readQuery(approvalQuery, exchange.query);
    const { caller } = exchange;
    const waitMs = allowedWait(caller, wait) * MS_PER_S;
    return { status: 200, body: await caller.port(APPROVALS).own.get(exchange.param('id'), waitMs) };
  },

  async approveSend(exchange) {
    const { shown } = readBody(approveBody, await exchange.json());
    return { status: 200, body: await exchange.caller.port(APPROVALS).own.approve(exchange.param('id'), shown) };
  },

  async denySend(exchange) {
    return { status: 200, body: await exchange.caller.port(APPROVALS).own.deny(exchange.param('id')) };
  },

  async withdrawSend(exchange) {
    await exchange.caller.port(APPROVALS).own.withdraw(exchange.param('id'));
    return { status: 204 };
  },
} satisfies Readonly<Record<string, Handler>>;
