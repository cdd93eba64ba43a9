import type { Scope } from './key.ts';

/** A new key and its service, as needed to set up a client. */
export interface ClientSetup {
  readonly secret: string;
  /** The key's scopes. A client that also needs other scopes gets no lines. */
  readonly scopes: readonly Scope[];
  /** Address of the service, without a slash at its end. */
  readonly url: string;
  /** Returns the command line that runs a command of Postern, such as `mcp`, with this service. */
  readonly invocation: (command: string) => { readonly command: string; readonly args: readonly string[] };
  /** The lines that features add for other clients. */
  readonly more?: readonly ClientLines[];
}

/**
 * Returns the set-up lines for each client program that can use a key with these scopes. `url` is the service's address.
 */
export type ClientsOf = (
  key: { readonly key: string; readonly scopes: readonly Scope[] },
  url: string,
) => readonly ClientLines[];

/** The lines with which one client is set up to use Postern. */
export interface ClientLines {
  readonly client: string;
  /** The file or form that the lines belong in. */
  readonly where: string;
  readonly lines: readonly string[];
}

/**
 * Returns the set-up lines for each client that the key suits, in display order. The command line and the console print
 * the same lines.
 */
export function clientLines(setup: ClientSetup): readonly ClientLines[] {
  const { secret, scopes, url, invocation, more = [] } = setup;
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
      where: 'their JSON file of MCP servers',
      lines: [JSON.stringify({ mcpServers: { messages: { command, args, env } } })],
    },
    {
      client: 'Claude Code, as a channel',
      suits: has('events', 'send'),
      where: '.mcp.json, then: claude --dangerously-load-development-channels server:messages',
      lines: [JSON.stringify({ mcpServers: { messages: channel } })],
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
    },
    ...more.map((lines) => ({ ...lines, suits: true })),
    {
      client: 'n8n',
      suits: true,
      where: 'a credential of type Header Auth or Postern API',
      lines: ['Name: X-API-Key', `Value or API key: ${secret}`, `URL of the service: ${url}`],
    },
    {
      client: 'curl',
      suits: true,
      where: 'in a terminal',
      lines: [`curl -H 'X-API-Key: ${secret}' ${url}/api/v1/keys/me`],
    },
  ];
  return all.filter(({ suits }) => suits).map(({ client, where, lines }) => ({ client, where, lines }));
}
