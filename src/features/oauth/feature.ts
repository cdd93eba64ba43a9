import { feature } from '../../core/feature.ts';
import { issuerWarnings, OAUTH_SETTINGS } from './settings.ts';
import { OAUTH_TABLES } from './tables.ts';

/** Lets hosted agents sign in at an address of the internet, and use MCP there. */
export const oauth = feature({
  name: 'oauth',
  // A token stands for a limited key, and opens MCP.
  needs: ['access', 'mcp'],
  settings: OAUTH_SETTINGS,
  tables: OAUTH_TABLES,
  check({ issuer }, config) {
    if (issuer === '') return {};
    return {
      warnings: issuerWarnings(issuer, config),
      strangers: 'While oauth.issuer is set, Postern is reachable from the internet, where strangers can try keys.',
    };
  },
  async open(core, { issuer }) {
    if (issuer === '') return undefined;
    const { openOAuth } = await import('./open-issuer.ts');
    return openOAuth(core, issuer);
  },
});
