import type { PermissionReport } from '../../model/ports/permissions-ports.ts';
import type { BackendHealth } from '../../model/ports/reading-ports.ts';
import type { Health } from '../../schema/health-schema.ts';
import { readQuery } from '../../schema/query-parameters.ts';
import { statusQuery } from '../../schema/status-request.ts';
import type { Handlers } from '../router.ts';
import { menuText } from './menu-text.ts';

/** Returns the handlers for the service's status and permissions (decision H). */
export function statusRoutes(checkPermissions: () => Promise<readonly PermissionReport[]>, ownUrl: () => string) {
  return {
    async getStatus({ query, request, arrival, caller }) {
      const { as } = readQuery(statusQuery, query);
      const report = await caller.status();
      if (as === undefined) {
        return { status: 200, body: arrival === 'socket' ? { ...report, url: ownUrl() } : report };
      }
      // `checkHost` has accepted the request's Host, so the user's browser can reach this service at that Host. Over
      // the Unix socket, the Host is only `localhost`, without a port.
      const url = arrival === 'socket' ? ownUrl() : `http://${request.headers.host ?? '127.0.0.1'}`;
      const text = menuText(report, as, { url });
      return { status: 200, content: { type: 'text/plain; charset=utf-8', text } };
    },

    async checkPermissions() {
      return { status: 200, body: { permissions: await checkPermissions() } };
    },
  } satisfies Partial<Handlers>;
}

export function healthRoutes(health: () => BackendHealth) {
  return {
    getHealth: () => ({ status: 200, body: { status: 'ok', backend: health() } satisfies Health }),
  } satisfies Partial<Handlers>;
}
