import type { AccessService } from '../../../domain/ports/access.ts';
import { auditQuery } from '../../../schema/audit.ts';
import { readQuery } from '../../../schema/query.ts';
import type { Handlers } from '../router.ts';

/** The audit log: who did what with which key (decision L4). */
export function auditRoutes(access: () => Promise<AccessService>) {
  return {
    async listAudit({ query }) {
      const { key, after, limit } = readQuery(auditQuery, query);
      return { status: 200, body: (await access()).audit.list({ keyId: key, after, limit }) };
    },
  } satisfies Partial<Handlers>;
}
