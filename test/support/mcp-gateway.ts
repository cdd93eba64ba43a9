import { systemClock } from '../../src/core/runtime/clock.ts';
import { Counters } from '../../src/core/runtime/counters.ts';
import { lazyMcpService } from '../../src/features/mcp/lazy-service.ts';
import type { McpParts } from '../../src/features/mcp/server-parts.ts';
import { FeatureGateway } from './feature-gateway.ts';
import type { Call } from './http-gateway.ts';
import { collectingLog } from './log.ts';

type Options = Parameters<typeof FeatureGateway.start>[0];

/** What a tool answered, as a client sees it. */
export interface ToolResult {
  readonly isError?: true;
  readonly content: readonly { readonly text: string }[];
  readonly structuredContent?: unknown;
}

/** Starts a gateway that serves /mcp. The caller closes it. */
export function openMcp(
  allowOwnerKey = true,
  settings = {},
  more: Options = {},
  features: McpParts['features'] = [],
): Promise<FeatureGateway> {
  const mcp = lazyMcpService({
    clock: systemClock,
    log: collectingLog(),
    counters: new Counters(),
    features,
    version: '1.2.3',
    timeZone: () => 'Europe/Berlin',
  });
  return FeatureGateway.start({ ...more, mcp: { mcp, settings: { allowOwnerKey } }, settings });
}

export const MCP_HEADERS = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };
export const LIST_TOOLS = { jsonrpc: '2.0', id: 1, method: 'tools/list' };

export function askMcp(gateway: FeatureGateway, message: unknown = LIST_TOOLS, call: Call = {}) {
  return gateway.post('/mcp', message, { ...call, headers: { ...MCP_HEADERS, ...call.headers } });
}

/** Calls a tool and returns its answer as a client sees it. */
export async function callTool(gateway: FeatureGateway, name: string, input: Record<string, unknown> | null) {
  const message = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: input } };
  const answer = await askMcp(gateway, message);
  const data = /^data: (.*)$/m.exec(answer.text)?.[1] ?? '{}';
  return (JSON.parse(data) as { readonly result: ToolResult }).result;
}
