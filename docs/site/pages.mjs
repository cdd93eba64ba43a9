// The pages of the guide in the order of its navigation: file from the root of the project, and title where the heading is too long.

export const NAVIGATION = {
  Start: [
    ['docs/README.md', 'What is where', 'Which page answers what, and the words of the project.'],
    ['README.md', 'Postern', 'What it is, what it needs, and how to start the simulated Mac with one command.'],
    ['docs/install.md', '', 'Install the agent on a Mac so that it runs at every login, and what is put where.'],
    [
      'docs/permissions.md',
      '',
      'The two permissions of macOS that Postern needs, and what you see while granting them.',
    ],
    [
      'docs/console.md',
      'The console',
      'The web page of the service: conversations, events, webhooks, keys, approvals and settings.',
    ],
  ],
  Guides: [
    [
      'docs/webhooks.md',
      '',
      'Register a webhook, verify its signature, and see what happens while the receiver is down.',
    ],
    [
      'docs/content.md',
      'Content and changes',
      'Styles, links, polls and voice messages in a message; its edits, receipts and deletion as events.',
    ],
    [
      'docs/search.md',
      'Search',
      'Full-text search over all messages, and names of the Address Book beside numbers and addresses.',
    ],
    [
      'docs/archive.md',
      'An archive of everything',
      'Export all messages and attachments to files that can be read and checked without Postern.',
    ],
    [
      'docs/agents.md',
      '',
      'Give an agent or a script a key that reads and sends only what you list, with approvals and limits.',
    ],
    [
      'docs/mcp.md',
      '',
      'Connect Claude, Cursor and other MCP clients: tools, events of new messages, and a channel of Claude Code.',
    ],
    [
      'docs/remote-access.md',
      '',
      'Another machine, your own network, hosted agents with OAuth, and the private tunnels of OpenAI and Anthropic.',
    ],
    ['docs/fleet.md', 'Many Macs', 'Put many Macs behind one API, with hubs over NATS.'],
  ],
  'Other programs': [
    ['docs/other-programs.md', '', 'OpenClaw, Hermes, Home Assistant, n8n and Node-RED, each with its set-up.'],
    ['docs/recipes/README.md', 'Recipes', 'Small complete programs to copy, in Python, TypeScript, Go and shell.'],
  ],
  Reference: [
    ['docs/api.md', '', 'A tour with curl, then every endpoint, parameter, event, stream and error of the REST API.'],
    ['docs/cli.md', '', 'Every command of postern with its options, exit codes and examples.'],
    ['docs/configuration.md', '', 'Every key of config.toml with its type, default and meaning.'],
    [
      'docs/limits.md',
      '',
      'The fixed limits, and five measured figures: how fast events arrive, and what waiting costs.',
    ],
  ],
  Operate: [
    [
      'docs/operate.md',
      'Backup and upgrade',
      'Upgrade, back up, restore, move to another Mac, and run a Mac that nobody uses.',
    ],
    [
      'docs/troubleshooting.md',
      '',
      'Common questions, every message and what to do about it, and what Messages does not allow.',
    ],
    ['CHANGELOG.md', '', 'What the first version offers, and what is not there yet.'],
    ['SECURITY.md', '', 'Who could attack, what stops them, what does not, and how to report a weakness.'],
  ],
  Compare: [['docs/compare.md', 'Other gateways', 'Other gateways to Apple Messages, and which to choose for what.']],
  Project: [
    [
      'docs/project/guarantees.md',
      'Guarantees',
      'What is guaranteed about events and sends, each with the test that shows it.',
    ],
    ['docs/project/contract.md', '', 'The numbered rules that a client of API version 1 may rely on.'],
    ['ARCHITECTURE.md', 'How it is built', 'The core, the features, the two paths of a message, and the reasons.'],
    ['CONTRIBUTING.md', '', 'How to run, test and change Postern.'],
    ['docs/project/mac-checklist.md', '', 'What can only be checked on a real Mac, in the order in which it helps us.'],
  ],
};

/** The cards of the first page: where each leads, and the reason to go there. */
export const CARDS = [
  ['README.md', 'Quick start', 'See it work in a minute, on a simulated Mac and without an account.'],
  ['docs/install.md', 'Install on a Mac', 'Two permissions and one command, and it runs at every login.'],
  ['docs/webhooks.md', 'Webhooks', 'Have every message posted to an address of yours, signed and in order.'],
  ['docs/agents.md', 'Limited keys', 'Let an agent read and write only where you allow it; every send waits for you.'],
  ['docs/mcp.md', 'MCP for agents', 'Give Claude, Cursor and other agents your messages as tools.'],
  ['docs/api.md', 'API', 'Every endpoint, event and error, with examples to copy.'],
];

/** Where a page is written to, below the guide and without its ending. */
export function outputOf(file) {
  if (file === 'README.md') return 'quick-start';
  const inside = file.startsWith('docs/') ? file.slice('docs/'.length) : file.toLowerCase();
  return inside.replace(/\.md$/, '').replace(/(^|\/)README$/, '$1index');
}
