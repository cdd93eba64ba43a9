import type { Answer } from '../../core/http/answer.ts';
import type { Exchange } from '../../core/http/exchange.ts';
import { BOTH, EVENT_STREAM, eventOf, JSON_TYPE, mcpFormats, responseIn } from './formats.ts';
import type { McpCalls } from './port.ts';
import type { McpService } from './ports.ts';
import { mcpProblem } from './problems.ts';

const NO_BATCH = refusal(400, -32_600, 'Invalid Request: batches are not supported. Send one message per request.');
const NOT_ACCEPTABLE = refusal(
  406,
  -32_000,
  'Not Acceptable: Accept must allow application/json, or text/event-stream, which endless streams need.',
);

/** The methods whose answers never end, so that they are always streams. */
const ENDLESS: ReadonlySet<unknown> = new Set(['events/stream', 'subscriptions/listen']);

function refusal(status: number, code: number, message: string): Answer {
  return { status, body: { jsonrpc: '2.0', id: null, error: { code, message } } };
}

/**
 * Returns what answers requests of the Model Context Protocol (decision M1). It answers with JSON-RPC errors, but
 * throws problems for a refused key and for a body that cannot be read.
 */
export function mcpCalls(mcp: McpService, { allowOwnerKey }: { readonly allowOwnerKey: boolean }): McpCalls {
  return {
    async call(exchange) {
      const { caller, signal, id } = exchange;
      if (caller.key === undefined && !allowOwnerKey) throw mcpProblem('owner_key_at_mcp');
      const body = await exchange.json();
      // Version 2025-06-18 of the protocol removed batches. Besides, the rate limit would count a whole batch as one
      // request.
      if (Array.isArray(body)) return NO_BATCH;
      const { json, stream: isStreamAccepted, isStreamNamed } = mcpFormats(exchange.header('accept'));
      const isEndless = ENDLESS.has((body as { readonly method?: unknown } | null)?.method);
      if (!isStreamAccepted && (!json || isEndless)) return NOT_ACCEPTABLE;
      const answer = await mcp.answer({ caller, headers: headersOf(exchange), body, signal, requestId: id });
      exchange.whenOver(answer.release);
      const { status, type = JSON_TYPE, text, stream } = answer;
      if (stream !== undefined && json && !isStreamNamed && !isEndless) {
        return { status, content: { type: JSON_TYPE, text: await responseIn(stream.read()) } };
      }
      if (stream !== undefined) return { status, stream, headers: { 'Content-Type': type } };
      if (text === undefined) return { status };
      if (json || status !== 200) return { status, content: { type, text } };
      return { status, content: { type: EVENT_STREAM, text: eventOf(text) } };
    },
  };
}

/**
 * Returns the headers that the protocol's package needs. Omits the API key, which access control has already checked.
 * `accept` is what the package demands, because `call` has read the client's own.
 */
function headersOf({ request: { headers } }: Exchange): Readonly<Record<string, string>> {
  const given = Object.entries(headers).filter(([name]) => /^(?:content-type|mcp-[\w-]+)$/.test(name));
  return { ...Object.fromEntries(given.map(([name, value]) => [name, String(value)])), accept: BOTH };
}
