import { allowedWait } from '../../model/caller.ts';
import { MS_PER_S } from '../../model/durations.ts';
import { namesFor } from '../../model/names.ts';
import type { AccessService } from '../../model/ports/access-ports.ts';
import { approvalQuery, approvalsQuery, approveBody } from '../../schema/approval-schema.ts';
import { readBody } from '../../schema/mistakes.ts';
import { readQuery } from '../../schema/query-parameters.ts';
import { proveBody } from '../../schema/self-chat-schema.ts';
import type { Handlers } from '../router.ts';

/**
 * Returns the handlers for sends that wait for a decision (decision L3), and for the conversation in which the owner
 * decides by tapback (decision L6).
 */
export function approvalRoutes(access: () => Promise<AccessService>) {
  return {
    async listApprovals({ query, caller }) {
      const { approvals, naming } = caller;
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
      return { status: 200, body: await caller.approvals.get(exchange.param('id'), waitMs) };
    },

    async approveSend(exchange) {
      const { shown } = readBody(approveBody, await exchange.json());
      const { approvals } = exchange.caller;
      return { status: 200, body: await approvals.approve(exchange.param('id'), shown) };
    },

    async denySend(exchange) {
      return { status: 200, body: await exchange.caller.approvals.deny(exchange.param('id')) };
    },

    async withdrawSend(exchange) {
      await exchange.caller.approvals.withdraw(exchange.param('id'));
      return { status: 204 };
    },

    async getSelfChat() {
      return { status: 200, body: (await access()).selfChat.get() };
    },

    async sendSelfChatCode() {
      return { status: 200, body: await (await access()).selfChat.sendCode() };
    },

    async proveSelfChat(exchange) {
      const { code } = readBody(proveBody, await exchange.json());
      return { status: 200, body: (await access()).selfChat.prove(code) };
    },
  } satisfies Partial<Handlers>;
}
