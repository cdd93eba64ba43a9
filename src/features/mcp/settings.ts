import { flag } from '../../core/config/setting.ts';

/** The section [mcp] of config.toml. */
export const MCP_SETTINGS = {
  allowOwnerKey: flag(
    {
      name: 'mcp.allow_owner_key',
      title: 'Your own key over MCP',
      about:
        'Whether /mcp accepts the api_key above. An agent with that key may read everything and send to everyone. "postern keys add" makes a limited key for an agent instead.',
    },
    false,
  ),
};
