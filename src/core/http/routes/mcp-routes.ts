import type { McpService } from '../../model/ports/mcp-ports.ts';
import { problem } from '../../model/problems.ts';
import type { Answer } from '../answer.ts';
import type { Exchange } from '../exchange.ts';
import type { Handlers } from '../router.ts';

export interface McpRouteParts {
  readonly mcp: McpService;
  readonly settings: { readonly allowOwnerKey: boolean };
}

const NO_BATCH: Answer = {
  status: 400,
  body: {
    jsonrpc: '2.0',
    id: null,
    error: { code: -32_600, message: 'Invalid Request: batches are not supported. Send one message per request.' },
  },
};

/**
 * Returns the handler for the Model Context Protocol (decision M1). It answers with JSON-RPC errors, but throws
 * problems for a refused key and for a body that cannot be read.
 */
export function mcpRoutes({ mcp, settings }: McpRouteParts) {
  return {
    async callMcp(exchange): Promise<Answer> {
      const { caller, signal, id } = exchange;
      if (caller.key === undefined && !settings.allowOwnerKey) throw problem('owner_key_at_mcp');
      const body = await exchange.json();
      // Version 2025-06-18 of the protocol removed batches. Besides, the rate limit would count a whole batch as one
      // request.
      if (Array.isArray(body)) return NO_BATCH;
      const answer = await mcp.answer({ caller, headers: headersOf(exchange), body, signal, requestId: id });
      exchange.whenOver(answer.release);
      const { status, type = 'application/json', text, stream } = answer;
      if (stream !== undefined) {
        const close = async (): Promise<void> => void (await stream[Symbol.asyncIterator]().return?.());
        return { status, stream: { read: () => stream, close }, headers: { 'Content-Type': type } };
      }
      return text === undefined ? { status } : { status, content: { type, text } };
    },
  } satisfies Partial<Handlers>;
}

/**
 * Returns the headers that the protocol's package needs. Omits the API key, which access control has already checked.
 */
function headersOf({ request: { headers } }: Exchange): Readonly<Record<string, string>> {
  const given = Object.entries(headers).filter(([name]) => /^(?:accept|content-type|mcp-[\w-]+)$/.test(name));
  return Object.fromEntries(given.map(([name, value]) => [name, String(value)]));
}
