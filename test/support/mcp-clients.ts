import { fileURLToPath } from 'node:url';
import { Client as Client2, StreamableHTTPClientTransport as Http2 } from '@modelcontextprotocol/client';
import { StdioClientTransport as Stdio2 } from '@modelcontextprotocol/client/stdio';
import { Client as Client1 } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport as Stdio1 } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport as Http1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { Service } from './service.ts';
import { BARE_ENVIRONMENT } from './temporary.ts';

const MAIN = fileURLToPath(new URL('../../dist/main.js', import.meta.url));

/** The official clients of both generations; `2026` speaks 2026-07-28, the others 2025-11-25. */
export const MCP_CLIENTS = ['2026 over HTTP', '2026 over stdio', '2025 over HTTP', '2025 over stdio'] as const;
export type McpClientKind = (typeof MCP_CLIENTS)[number];

export interface McpAnswer {
  readonly isError: boolean;
  readonly text: string;
  readonly next: string;
  readonly structured: Readonly<Record<string, unknown>>;
  readonly content: readonly { readonly type: string; readonly [name: string]: unknown }[];
}

/** What the tests need from a client, whatever its generation. */
export interface McpClient {
  readonly protocol: string;
  readonly raw: Client1 | Client2;
  tools(): Promise<readonly { readonly name: string; readonly [name: string]: unknown }[]>;
  call(name: string, input?: Record<string, unknown>, options?: { readonly signal?: AbortSignal }): Promise<McpAnswer>;
  close(): Promise<void>;
}

/** Connects as a user's program would; `key` is sent in a header or in the environment. */
export async function connectMcp(kind: McpClientKind, service: Service, key: string): Promise<McpClient> {
  const url = new URL(`http://127.0.0.1:${service.port}/mcp`);
  const web = { requestInit: { headers: { 'X-API-Key': key } } };
  const child = {
    command: process.execPath,
    args: [MAIN, 'mcp', '--config-dir', service.configFolder],
    env: { ...BARE_ENVIRONMENT, HOME: service.folder, POSTERN_API_KEY: key },
    stderr: 'ignore' as const,
  };
  const isWeb = kind.endsWith('HTTP');
  if (kind.startsWith('2026')) {
    const client = new Client2({ name: 'test', version: '1' }, { versionNegotiation: { mode: 'auto' } });
    await client.connect(isWeb ? new Http2(url, web) : new Stdio2(child));
    return adapted(client, client.getNegotiatedProtocolVersion() ?? '');
  }
  const client = new Client1({ name: 'test', version: '1' });
  const transport = isWeb ? new Http1(url, web) : new Stdio1(child);
  await client.connect(transport);
  return adapted(client, (transport as { protocolVersion?: string }).protocolVersion ?? '2025-11-25');
}

function adapted(client: Client1 | Client2, protocol: string): McpClient {
  const any = client as unknown as {
    listTools(): Promise<{ tools: { name: string }[] }>;
    callTool(request: object, ...rest: unknown[]): Promise<Record<string, unknown>>;
  };
  return {
    protocol,
    raw: client,
    tools: async () => (await any.listTools()).tools,
    async call(name, input = {}, options = {}) {
      const request = { name, arguments: input };
      const result = await (client instanceof Client2
        ? any.callTool(request, options)
        : any.callTool(request, undefined, options));
      const content = result.content as McpAnswer['content'];
      const structured = (result.structuredContent ?? {}) as { readonly text?: string; readonly next?: string };
      const first = content[0]?.text;
      const text = typeof first === 'string' ? first : '';
      return {
        isError: result.isError === true,
        text: structured.text ?? text,
        next: structured.next ?? '',
        structured,
        content,
      };
    },
    close: () => client.close(),
  };
}
