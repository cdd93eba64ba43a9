import type { AuditEntry } from '../../client/access-types.ts';
import { NO_USE } from '../../client/key-types.ts';
import type { Handler } from '../../core/http/router.ts';
import { type WithoutUndefined, withoutUndefined } from '../../core/http/without-undefined.ts';
import { allowedWait } from '../../core/model/caller.ts';
import { MS_PER_S, NS_PER_MS } from '../../core/model/durations.ts';
import { namesFor } from '../../core/model/names.ts';
import { readBody } from '../../core/schema/mistakes.ts';
import { pageLink } from '../../core/schema/page-link.ts';
import { readQuery } from '../../core/schema/query-parameters.ts';
import { ACCESS, APPROVALS, RIGHTS } from './port.ts';
import { approvalQuery, approvalsQuery, approveBody } from './schema/approval-schema.ts';
import { auditQuery } from './schema/audit-schema.ts';
import { keyBody, keyChangesBody, keyCheckQuery, keysQuery, newKeyQuery } from './schema/key-schema.ts';

/** The handlers for limited keys (decision L1), sends that wait (decision L3) and the audit log (decision L4). */
export const HANDLERS = {
  async listKeys({ query, caller }) {
    const { include } = readQuery(keysQuery, query);
    const { keys, audit } = caller.port(ACCESS);
    const today = audit.usedToday();
    const listed = include === undefined ? keys.list() : [...keys.list(), ...keys.revoked()];
    return { status: 200, body: listed.map((key) => ({ ...key, today: today.get(key.id) ?? NO_USE })) };
  },

  async addKey(exchange) {
    const { include } = readQuery(newKeyQuery, exchange.query);
    const { name, preset, scopes, ...settings } = readBody(keyBody, await exchange.json());
    const key = exchange.caller.port(ACCESS).keys.add({
      name,
      preset,
      scopes,
      settings: givenOf(settings),
    });
    const body = include === undefined ? key : { ...key, clients: exchange.caller.port(ACCESS).clientsOf(key) };
    return { status: 201, body, headers: { Location: `keys/${key.id}` } };
  },

  async getKey(exchange) {
    return { status: 200, body: exchange.caller.port(ACCESS).keys.get(exchange.param('id')) };
  },

  async getOwnKey({ caller }) {
    return { status: 200, body: caller.port(RIGHTS).own() };
  },

  async checkKey(exchange) {
    const { to } = readQuery(keyCheckQuery, exchange.query);
    return { status: 200, body: exchange.caller.port(ACCESS).keys.check(exchange.param('id'), to) };
  },

  async changeKey(exchange) {
    const changes = givenOf(readBody(keyChangesBody, await exchange.json()));
    return { status: 200, body: exchange.caller.port(ACCESS).keys.change(exchange.param('id'), changes) };
  },

  async rotateKey(exchange) {
    return { status: 200, body: exchange.caller.port(ACCESS).keys.rotate(exchange.param('id')) };
  },

  async revokeKey(exchange) {
    const revocation = exchange.caller.port(ACCESS).keys.revoke(exchange.param('id'));
    return exchange.wantsBody ? { status: 200, body: revocation } : { status: 204 };
  },

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

  async listAudit({ query, caller }) {
    const asked = readQuery(auditQuery, query);
    const { key: keyId, since, order, include, limit, ...rest } = asked;
    const isNewestFirst = order === 'desc';
    const sinceMs = since === undefined ? undefined : Number(since / NS_PER_MS);
    const entries = caller.port(ACCESS).audit.list({ ...rest, keyId, sinceMs, isNewestFirst, limit });
    if (include !== undefined) await caller.naming.ready();
    const body = include === undefined ? entries : entries.map((entry) => named(entry, caller.naming.names));
    const last = entries.at(-1);
    if (!isNewestFirst || last === undefined || entries.length < limit) return { status: 200, body };
    return { status: 200, body, headers: { Link: pageLink(auditQuery, query, { before: last.id }) } };
  },
} satisfies Readonly<Record<string, Handler>>;

type Given<Members extends { readonly caps?: object | undefined }> = Omit<WithoutUndefined<Members>, 'caps'> & {
  readonly caps?: WithoutUndefined<NonNullable<Members['caps']>>;
};

/** Returns what a request says of a key: without members that are undefined, also among the caps. */
function givenOf<Members extends { readonly caps?: object | undefined }>({ caps, ...others }: Members): Given<Members> {
  return { ...withoutUndefined(others), ...(caps !== undefined && { caps: withoutUndefined(caps) }) } as Given<Members>;
}

function named(entry: AuditEntry, lookup: Parameters<typeof namesFor>[1]): AuditEntry {
  return { ...entry, names: namesFor(entry.target === null ? [] : [entry.target], lookup) };
}
