import { hash, timingSafeEqual } from 'node:crypto';
import type { Config } from '../../core/config/config.ts';
import type { Host } from '../../core/host.ts';
import type { HttpServerParts } from '../../core/http/server.ts';
import type { McpService } from '../../core/model/ports/mcp-ports.ts';
import type { Sqlite } from '../../core/runtime/sqlite.ts';
import type { LazyAccess } from '../access/lazy-access.ts';

interface IssuerParts {
  readonly config: Config;
  readonly host: Host;
  readonly state: Sqlite;
  readonly access: LazyAccess;
  readonly mcp: McpService;
}

/** Returns the host of `oauth.issuer`; undefined if it is not set. */
export function issuerHostOf({ oauth: { issuer } }: Pick<Config, 'oauth'>): string | undefined {
  return issuer === '' ? undefined : new URL(issuer).hostname;
}

/**
 * Creates the handler of requests from the internet: OAuth and MCP (decision Y5). Returns undefined and loads no module
 * if `oauth.issuer` is empty.
 */
export async function openIssuer({
  config,
  host,
  state,
  access,
  mcp,
}: IssuerParts): Promise<HttpServerParts['issuer']> {
  const { issuer } = config.oauth;
  if (issuer === '') return undefined;
  const [{ IssuerHost }, { AuthorizationServer }, { oauthStore }, { readPublicDocument }] = await Promise.all([
    import('../../core/http/issuer-host.ts'),
    import('./authorization-server.ts'),
    import('./oauth-store.ts'),
    import('./public-document.ts'),
  ]);
  const { clock } = host;
  const ownerDigest = hash('sha256', config.auth.apiKey, 'buffer');
  const oauth = new AuthorizationServer({
    issuer,
    clock,
    store: oauthStore(state),
    isOwnerKey: (key) => timingSafeEqual(hash('sha256', key, 'buffer'), ownerDigest),
    keys: async () => (await access.load()).keys,
    revoke: async (keyId) => {
      const { keys } = await access.load();
      if (keys.withId(keyId) !== undefined) keys.revoke(keyId);
    },
    callerOf: (keyId) => {
      const caller = access.loaded?.callerOf(keyId);
      if (caller !== undefined) access.loaded?.keys.noteUse(keyId);
      return caller;
    },
    readDocument: (url) => readPublicDocument(url, { clock }),
  });
  const { rateLimitPerMinute } = config.server;
  const settings = { issuer, oauth, rateLimitPerMinute, mcp: { mcp, settings: config.mcp } };
  return (control) => new IssuerHost({ ...settings, access: control });
}
