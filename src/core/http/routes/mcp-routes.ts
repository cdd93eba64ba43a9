import type { McpService } from '../../model/ports/mcp-ports.ts';
import { problem } from '../../model/problems.ts';
import type { Answer } from '../answer.ts';
import type { Exchange } from '../exchange.ts';
import { BOTH, EVENT_STREAM, eventOf, JSON_TYPE, mcpFormats, responseIn } from '../mcp-formats.ts';
import type { Handlers } from '../router.ts';

export interface McpRouteParts {
  readonly mcp: McpService;
  readonly settings: { readonly allowOwnerKey: boolean };
}

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
      const { json, stream: isStreamAccepted, isStreamNamed } = mcpFormats(exchange.header('accept'));
      const isEndless = ENDLESS.has((body as { readonly method?: unknown } | null)?.method);
      if (!isStreamAccepted && (!json || isEndless)) return NOT_ACCEPTABLE;
      const answer = await mcp.answer({ caller, headers: headersOf(exchange), body, signal, requestId: id });
      exchange.whenOver(answer.release);
      const { status, type = JSON_TYPE, text, stream } = answer;
      if (stream !== undefined && json && !isStreamNamed && !isEndless) {
        return { status, content: { type: JSON_TYPE, text: await responseIn(stream) } };
      }
      if (stream !== undefined) {
        const close = async (): Promise<void> => void (await stream[Symbol.asyncIterator]().return?.());
        return { status, stream: { read: () => stream, close }, headers: { 'Content-Type': type } };
      }
      if (text === undefined) return { status };
      if (json || status !== 200) return { status, content: { type, text } };
      return { status, content: { type: EVENT_STREAM, text: eventOf(text) } };
    },
  } satisfies Partial<Handlers>;
}

/**
 * Returns the headers that the protocol's package needs. Omits the API key, which access control has already checked.
 * `accept` is what the package demands, because `callMcp` has read the client's own.
 */
function headersOf({ request: { headers } }: Exchange): Readonly<Record<string, string>> {
  const given = Object.entries(headers).filter(([name]) => /^(?:content-type|mcp-[\w-]+)$/.test(name));
  return { ...Object.fromEntries(given.map(([name, value]) => [name, String(value)])), accept: BOTH };
}
