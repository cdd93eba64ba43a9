import type { Setting } from '../../core/config/setting.ts';
import type { EventErrorNumbers } from './subscriptions/subscription.ts';

/** The section [mcp] of config.toml. */
export const MCP_SETTINGS = {
  allowOwnerKey: {
    name: 'mcp.allow_owner_key',
    about:
      'Whether /mcp accepts the api_key above. An agent with that key may read everything and send to everyone. "postern keys add" makes a limited key for an agent instead.',
    allowed: 'true or false',
    defaultValue: () => false,
    read: (written) => (typeof written === 'boolean' ? written : undefined),
  } satisfies Setting<boolean>,
  eventErrors: {
    name: 'mcp.event_errors',
    about:
      'Which error numbers MCP Events uses. "draft": those of the draft specification, which ChatGPT and other current clients expect. "final": those of the final specification.',
    allowed: '"draft" or "final"',
    defaultValue: () => 'draft',
    read: (written) => (written === 'draft' || written === 'final' ? written : undefined),
  } satisfies Setting<EventErrorNumbers>,
};
