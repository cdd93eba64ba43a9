import { feature } from '../../core/feature.ts';
import { issuerWarnings, OAUTH_SETTINGS } from './settings.ts';

/** Lets hosted agents sign in at an address of the internet, and use MCP there. */
export const oauth = feature({
  name: 'oauth',
  // A token stands for a limited key, and opens MCP.
  needs: ['access', 'mcp'],
  settings: OAUTH_SETTINGS,
  tables: `
  CREATE TABLE oauth_client (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    name TEXT NOT NULL,
    redirect_uris TEXT NOT NULL,
    created_ms INTEGER NOT NULL
  ) STRICT;
  CREATE TABLE oauth_grant (
    key_id TEXT PRIMARY KEY,
    client_id TEXT NOT NULL,
    scope TEXT NOT NULL,
    access_hash TEXT NOT NULL,
    access_until_ms INTEGER NOT NULL,
    refresh_hash TEXT NOT NULL,
    family_hash TEXT
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX oauth_grant_by_access ON oauth_grant (access_hash);`,
  check({ issuer }, config) {
    if (issuer === '') return {};
    return {
      warnings: issuerWarnings(issuer, config),
      strangers: 'While oauth.issuer is set, Postern is reachable from the internet, where strangers can try keys.',
    };
  },
  async open(core, { issuer }) {
    if (issuer === '') return undefined;
    return (await import('./open-issuer.ts')).openOAuth(core, issuer);
  },
});
