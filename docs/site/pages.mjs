// The pages of the guide in the order of its navigation: file from the root of the project, and title where the heading is too long.

export const NAVIGATION = {
  Start: [
    ['docs/README.md', 'What is where'],
    ['README.md', 'Quick start'],
    ['docs/install.md'],
    ['docs/permissions.md'],
    ['docs/console.md', 'The console'],
    ['docs/faq.md', 'Questions'],
  ],
  Guides: [
    ['docs/webhooks.md'],
    ['docs/content.md'],
    ['docs/changes.md', 'Edits, receipts, deletions'],
    ['docs/search.md'],
    ['docs/contacts.md'],
    ['docs/archive.md', 'An archive of everything'],
    ['docs/agents.md'],
    ['docs/mcp.md', 'MCP for agents'],
    ['docs/mcp-events.md', 'Events for agents'],
    ['docs/oauth.md', 'Hosted agents'],
    ['docs/remote-access.md', 'From another machine'],
    ['docs/fleet.md', 'Many Macs'],
  ],
  'Other programs': [
    ['docs/openclaw.md'],
    ['docs/bluebubbles.md', 'Hermes, Home Assistant'],
    ['docs/channel.md', 'Claude Code'],
  ],
  Recipes: [
    ['docs/recipes/README.md', 'All recipes'],
    ['docs/recipes/node-red.md'],
    ['docs/recipes/n8n.md'],
    ['docs/recipes/home-assistant.md'],
  ],
  Reference: [
    ['docs/api.md'],
    ['docs/cli.md'],
    ['docs/configuration.md'],
    ['docs/limits.md'],
    ['docs/not-possible.md', 'What Messages does not allow'],
    ['docs/glossary.md'],
  ],
  Operate: [
    ['docs/backup.md', 'Backup and restore'],
    ['docs/troubleshooting.md', 'Troubleshooting'],
    ['docs/upgrade.md', 'Upgrading'],
    ['CHANGELOG.md'],
    ['SECURITY.md'],
  ],
  Compare: [['docs/compare.md', 'Other gateways']],
  Project: [
    ['docs/project/guarantees.md', 'Guarantees'],
    ['docs/project/contract.md'],
    ['docs/project/decisions.md'],
    ['ARCHITECTURE.md', 'How it is built'],
    ['CONTRIBUTING.md'],
    ['docs/project/mac-checklist.md'],
  ],
};

/** Where a page is written to, below the guide and without its ending. */
export function outputOf(file) {
  if (file === 'README.md') return 'quick-start';
  const inside = file.startsWith('docs/') ? file.slice('docs/'.length) : file.toLowerCase();
  return inside.replace(/\.md$/, '').replace(/(^|\/)README$/, '$1index');
}
