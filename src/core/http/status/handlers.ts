import type { PermissionReport } from '../../model/ports/permissions-ports.ts';
import type { BackendHealth } from '../../model/ports/reading-ports.ts';
import type { ShownSetting } from '../../model/shown-setting.ts';
import { readQuery } from '../../schema/query-parameters.ts';
import type { Handler } from '../router.ts';
import type { Health } from './answers.ts';
import { menuText } from './menu-text.ts';
import { statusQuery } from './schema.ts';

export interface StatusHandlerParts {
  readonly health: () => BackendHealth;
  readonly checkPermissions: () => Promise<readonly PermissionReport[]>;
  /** Loads the settings in use. */
  readonly appSettings: () => Promise<readonly ShownSetting[]>;
}

/** Returns the handlers for the service's health, status, settings and permissions (decision H). */
export function statusHandlers({ health, checkPermissions, appSettings }: StatusHandlerParts) {
  return {
    getHealth: () => ({ status: 200, body: { status: 'ok', backend: health() } satisfies Health }),

    async getStatus({ query, request, arrival, caller, serviceUrl }) {
      const { as } = readQuery(statusQuery, query);
      const report = await caller.status();
      if (as === undefined) {
        return { status: 200, body: arrival === 'socket' ? { ...report, url: serviceUrl } : report };
      }
      // `checkHost` has accepted the request's Host, so the user's browser can reach this service at that Host. Over
      // the Unix socket, the Host is only `localhost`, without a port.
      const url = arrival === 'socket' ? serviceUrl : `http://${request.headers.host ?? '127.0.0.1'}`;
      const text = menuText(report, as, { url });
      return { status: 200, content: { type: 'text/plain; charset=utf-8', text } };
    },

    getConfig: async () => ({ status: 200, body: { settings: await appSettings() } }),

    async checkPermissions() {
      return { status: 200, body: { permissions: await checkPermissions() } };
    },
  } satisfies Readonly<Record<string, Handler>>;
}
