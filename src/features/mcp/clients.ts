import type { ClientLines, ClientSetup } from '../../core/model/client-lines.ts';
import type { Scope } from '../../core/model/key.ts';

/** Returns the set-up lines of each client of MCP that the key suits. */
export function mcpClients({ secret, scopes, url, invocation }: ClientSetup): readonly ClientLines[] {
  const { command, args } = invocation('mcp');
  const env = { POSTERN_API_KEY: secret };
  const channel = { command, args: [...args, '--channel'], env };
  const has = (...wanted: readonly Scope[]): boolean => wanted.every((scope) => scopes.includes(scope));
  const hasTools = has('read') || has('events') || has('send');
  const all: readonly (ClientLines & { readonly suits: boolean })[] = [
    {
      client: 'Claude Code',
      suits: hasTools,
      where: 'in a terminal',
      lines: [`claude mcp add --transport http messages ${url}/mcp --header "X-API-Key: ${secret}"`],
    },
    {
      client: 'Claude Desktop, Cursor and others',
      suits: hasTools,
      where: 'their JSON file of MCP servers, such as claude_desktop_config.json or ~/.cursor/mcp.json',
      lines: jsonLines({ mcpServers: { messages: { command, args, env } } }),
    },
    {
      client: 'Claude Code, as a channel',
      suits: has('events', 'send'),
      where: '.mcp.json, then: claude --dangerously-load-development-channels server:messages',
      lines: jsonLines({ mcpServers: { messages: channel } }),
    },
    {
      client: 'Codex',
      suits: hasTools,
      where: '~/.codex/config.toml',
      lines: [
        '[mcp_servers.messages]',
        `command = ${JSON.stringify(command)}`,
        `args = [${args.map((argument) => JSON.stringify(argument)).join(', ')}]`,
        `env = { POSTERN_API_KEY = "${secret}" }`,
      ],
    },
    {
      client: 'ChatGPT',
      suits: hasTools,
      where: 'the configuration of its tunnel client, which runs on this machine',
      lines: [`target: ${url}/mcp`, 'header X-API-Key: the key above'],
      guide: 'remote-access.html#openai-secure-mcp-tunnel',
    },
  ];
  return all.filter(({ suits }) => suits).map(({ suits: _suits, ...lines }) => lines);
}

const jsonLines = (value: object): readonly string[] => JSON.stringify(value, null, 2).split('\n');
