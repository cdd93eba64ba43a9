// The pages of the guide in the order of its navigation: file from the root of the project, and title where the heading is too long.

export const NAVIGATION = {
  Start: [
    ['docs/README.md', 'What is where', 'Which page answers what, grouped by what you want to do.'],
    ['README.md', 'Postern', 'What it is, what it needs, and how to start the simulated Mac with one command.'],
    ['docs/tour.md', 'A tour', 'Read, send and receive messages on the simulated Mac with curl.'],
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
    ['docs/faq.md', 'Questions', 'Short answers to what most people ask before they start.'],
  ],
  Guides: [
    [
      'docs/webhooks.md',
      '',
      'Register a webhook, verify its signature, and see what happens while the receiver is down.',
    ],
    [
      'docs/content.md',
      '',
      'Styled words, links, polls, voice messages, drawings and group events in a message, with an example of each.',
    ],
    [
      'docs/changes.md',
      'Edits, receipts, deletions',
      'Opt-in events for what happens to a message after it was sent or received.',
    ],
    ['docs/search.md', '', 'Full-text search over all messages: how to switch it on, and what a query may contain.'],
    ['docs/contacts.md', '', 'Show names of the Address Book beside numbers and addresses.'],
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
      'MCP for agents',
      'Connect Claude, Cursor and other MCP clients: the tools, resources and prompts they get.',
    ],
    [
      'docs/mcp-events.md',
      'Events for agents',
      'Let an agent poll, stream or subscribe to new messages through the Events extension of MCP.',
    ],
    [
      'docs/oauth.md',
      'Hosted agents',
      'Let ChatGPT, Claude and other hosted agents sign in through a tunnel with OAuth.',
    ],
    [
      'docs/tunnels.md',
      'Private tunnels',
      "Let ChatGPT or Claude's API in by OpenAI's and Anthropic's tunnels, with nothing on the internet.",
    ],
    [
      'docs/remote-access.md',
      'From another machine',
      'Reach the service from another machine through a tunnel, a proxy or your own network.',
    ],
    ['docs/fleet.md', 'Many Macs', 'Put many Macs behind one API, with hubs over NATS.'],
  ],
  'Other programs': [
    ['docs/openclaw.md', '', 'Let OpenClaw use Postern in place of imsg, with a limited key.'],
    [
      'docs/bluebubbles.md',
      'Hermes, Home Assistant',
      'Serve programs that speak the REST API of the BlueBubbles server.',
    ],
    ['docs/channel.md', 'Claude Code', 'Show new messages to a running session of Claude Code, and let it answer.'],
  ],
  Recipes: [
    ['docs/recipes/README.md', 'All recipes', 'Small complete programs to copy, in Python, TypeScript, Go and shell.'],
    ['docs/recipes/node-red.md', '', 'A Node-RED flow to import that answers messages.'],
    ['docs/recipes/n8n.md', '', 'An n8n workflow of three nodes to import that answers messages.'],
    ['docs/recipes/home-assistant.md', '', 'Receive messages in a Home Assistant automation, and send from one.'],
  ],
  Reference: [
    ['docs/api.md', '', 'Every endpoint, parameter, event, stream and error of the REST API and the WebSocket.'],
    ['docs/cli.md', '', 'Every command of postern with its options, exit codes and examples.'],
    ['docs/configuration.md', '', 'Every key of config.toml with its type, default and meaning.'],
    [
      'docs/performance.md',
      '',
      'Five measured figures: how fast events arrive, and what the service costs while it waits.',
    ],
    ['docs/limits.md', '', 'The fixed limits: sizes, rates, waits and how many of each.'],
    [
      'docs/not-possible.md',
      'What Messages does not allow',
      'What no program can do with Messages in this way, and why.',
    ],
    ['docs/glossary.md', '', 'The words of the project and what each means.'],
  ],
  Operate: [
    [
      'docs/backup.md',
      'Backup and restore',
      'Back up the state and the configuration, and restore them on the same or another Mac.',
    ],
    [
      'docs/troubleshooting.md',
      'Troubleshooting',
      'Every message of the service and the command line, and what to do about it.',
    ],
    ['docs/upgrade.md', 'Upgrading', 'Upgrade an installation, and what changes for clients.'],
    ['CHANGELOG.md', '', 'What changed in each version.'],
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
    ['docs/project/decisions.md', '', 'The numbered choices that settle what the contract leaves open.'],
    ['ARCHITECTURE.md', 'How it is built', 'The core, the features, and the two paths of a message.'],
    [
      'docs/project/design-notes.md',
      '',
      'What must always hold, how the service starts and stops, and why it has this shape.',
    ],
    ['CONTRIBUTING.md', '', 'How to run, test and change Postern.'],
    ['docs/project/mac-checklist.md', '', 'What can only be checked on a real Mac.'],
    ['docs/project/publishing.md', 'Publishing', 'What only the owner can do: names, accounts, signatures.'],
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
