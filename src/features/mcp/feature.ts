import { Option } from 'commander';
import { connected, rowOrOffset } from '../../core/cli/declaration.ts';
import { feature } from '../../core/feature.ts';
import { mcpClients } from './clients.ts';
import { MCP_PROBLEMS } from './problems.ts';
import { MCP_SETTINGS } from './settings.ts';

/** Serves the Model Context Protocol: the tools, events and subscriptions of programs that a model drives. */
export const mcp = feature({
  name: 'mcp',
  // Some of its tools search, and resolve names.
  needs: ['contacts', 'search'],
  settings: MCP_SETTINGS,
  tables: `
  CREATE TABLE subscription (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    key_id TEXT NOT NULL,
    name TEXT NOT NULL,
    arguments TEXT NOT NULL,
    url TEXT NOT NULL,
    secret TEXT NOT NULL,
    previous_secret TEXT,
    previous_until_ms INTEGER,
    expires_ms INTEGER NOT NULL,
    last_delivery_ms INTEGER,
    last_error TEXT,
    failed_since_ms INTEGER,
    has_skipped INTEGER NOT NULL,
    has_gap INTEGER NOT NULL
  ) STRICT;`,
  problems: MCP_PROBLEMS,
  routes: {
    callMcp: { method: 'POST', path: '/mcp', key: 'header', access: 'key', isOutside: true, isForLimitedKeys: true },
  },
  replaced: (state) => state.exec('UPDATE subscription SET has_gap = 1'),
  handlers: async () => (await import('./handlers.ts')).HANDLERS,
  document: async () => (await import('./document.ts')).DOCUMENT,
  clients: (setup) => mcpClients(setup),
  commands(program) {
    connected(program.command('mcp'), { json: false })
      .description('Serve MCP over stdin and stdout, for programs that start their tool servers themselves.')
      .option('--channel', 'pass incoming messages on to Claude Code, which answers with its tool "reply"')
      .addOption(
        new Option('--since <row>', 'with --channel: start after this row id or offset instead of now').argParser(
          rowOrOffset,
        ),
      )
      .examples('POSTERN_API_KEY=postern_… postern mcp', 'postern mcp --key-file ~/agent.key')
      .runs(async () => (await import('./cli/mcp-command.ts')).mcpCommand);
  },
  open: async (core, settings) => (await import('./open.ts')).openMcp(core, settings),
});
