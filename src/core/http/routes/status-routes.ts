import type { Diagnostics } from '../../model/diagnostics.ts';
import type { PermissionReport } from '../../model/ports/permissions-ports.ts';
import type { BackendHealth } from '../../model/ports/reading-ports.ts';
import { diagnosticsQuery } from '../../schema/diagnostics-request.ts';
import type { Health } from '../../schema/health-schema.ts';
import { readQuery } from '../../schema/query-parameters.ts';
import { statusQuery } from '../../schema/status-request.ts';
import type { Handlers } from '../router.ts';
import { menuText } from './menu-text.ts';

/** Default time for which chat.db is watched. */
const WATCH_SECONDS = 30;

/**
 * Watches chat.db for `seconds` and returns the diagnostics. If `asksMessages` is true, scripts also ask Messages for
 * its accounts and chats.
 */
export type Diagnose = (request: { readonly seconds: number; readonly asksMessages: boolean }) => Promise<Diagnostics>;

/** Returns the handlers for the service's status, permissions and diagnostics (decision H). */
export function statusRoutes(
  checkPermissions: () => Promise<readonly PermissionReport[]>,
  ownUrl: () => string,
  diagnose: Diagnose,
) {
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

    async runDiagnostics({ query }) {
      const { seconds = WATCH_SECONDS, ask } = readQuery(diagnosticsQuery, query);
      return { status: 200, body: await diagnose({ seconds, asksMessages: ask === 'messages' }) };
    },
  } satisfies Partial<Handlers>;
}

export function healthRoutes(health: () => BackendHealth) {
  return {
    getHealth: () => ({ status: 200, body: { status: 'ok', backend: health() } satisfies Health }),
  } satisfies Partial<Handlers>;
}
