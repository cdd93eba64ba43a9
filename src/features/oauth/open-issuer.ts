import { hash, timingSafeEqual } from 'node:crypto';
import type { Core } from '../../core/core.ts';
import type { Running } from '../../core/feature.ts';
import { ACCESS } from '../access/port.ts';
import { MCP } from '../mcp/port.ts';
import { AuthorizationServer } from './authorization-server.ts';
import { IssuerHost } from './issuer-host.ts';
import { oauthStore } from './oauth-store.ts';

/** Answers requests from the internet: OAuth and MCP (decision Y5). */
export function openOAuth(
  { config, host, state, guests, ports, otherHosts, ownListeners }: Core,
  issuer: string,
): Running {
  const { clock } = host;
  const { keys } = ports.get(ACCESS);
  const ownerDigest = hash('sha256', config.auth.apiKey, 'buffer');
  const oauth = new AuthorizationServer({
    issuer,
    clock,
    store: oauthStore(state),
    isOwnerKey: (key) => timingSafeEqual(hash('sha256', key, 'buffer'), ownerDigest),
    keys,
    revoke: async (keyId) => {
      if (keys.withId(keyId) !== undefined) keys.revoke(keyId);
    },
    callerOf: (keyId) => {
      const caller = guests.callerOf(keyId);
      if (caller !== undefined) keys.noteUse(keyId);
      return caller;
    },
    readDocument: async (url) => (await import('./public-document.ts')).readPublicDocument(url, { clock }),
  });
  const { rateLimitPerMinute } = config.server;
  otherHosts.push(new IssuerHost({ issuer, oauth, rateLimitPerMinute, mcp: ports.get(MCP) }));
  ownListeners.addHost(new URL(issuer).hostname);
  return {};
}
