import type { AuditEntry } from '../../client/access-types.ts';
import type { Handler } from '../../core/http/router.ts';
import { NS_PER_MS } from '../../core/model/durations.ts';
import { namesFor } from '../../core/model/names.ts';
import { pageLink } from '../../core/schema/page-link.ts';
import { readQuery } from '../../core/schema/query-parameters.ts';
import { ACCESS } from './port.ts';
import { auditQuery } from './schema/audit-schema.ts';

/** The handler for the audit log: who did what with which key (decision L4). */
export const AUDIT_HANDLERS = {
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

function named(entry: AuditEntry, lookup: Parameters<typeof namesFor>[1]): AuditEntry {
  return { ...entry, names: namesFor(entry.target === null ? [] : [entry.target], lookup) };
}
