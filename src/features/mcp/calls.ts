import { acceptedRanges } from '../../core/http/accepted-ranges.ts';
import type { Answer } from '../../core/http/answer.ts';
import type { Exchange } from '../../core/http/exchange.ts';
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

const JSON_TYPE = 'application/json';
const EVENT_STREAM = 'text/event-stream';
/** The Accept header that the protocol's package demands of every client. */
const BOTH = `${JSON_TYPE}, ${EVENT_STREAM}`;

/** The forms of an answer that a client of MCP accepts. */
interface McpFormats {
  readonly json: boolean;
  readonly stream: boolean;
  /** True if the client names a type of text, and so certainly reads streams. A wildcard may come from any client. */
  readonly isStreamNamed: boolean;
}

/** Reads an Accept header. A client without the header accepts everything. */
function mcpFormats(accept: string | undefined): McpFormats {
  if (accept === undefined || accept.trim() === '') return { json: true, stream: true, isStreamNamed: false };
  const ranges = acceptedRanges(accept);
  // The most specific range decides.
  const accepts = (type: string): boolean =>
    [type, `${type.split('/', 1).join('')}/*`, '*/*']
      .map((one) => ranges.find(({ range }) => range === one))
      .find((found) => found !== undefined)?.isAccepted ?? false;
  const stream = accepts(EVENT_STREAM);
  const isStreamNamed = stream && ranges.some(({ range }) => range === EVENT_STREAM || range === 'text/*');
  return { json: accepts(JSON_TYPE), stream, isStreamNamed };
}

/**
 * Returns the response in a stream of JSON-RPC messages as text. Drops notifications, such as progress, because a
 * client that accepts only JSON cannot receive them.
 */
async function responseIn(stream: AsyncIterable<Uint8Array>): Promise<string> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of stream) chunks.push(chunk);
  const events = Buffer.concat(chunks)
    .toString('utf8')
    .split(/\r?\n\r?\n/);
  return events.map(dataOf).findLast((data) => data !== '' && 'id' in (JSON.parse(data) as object)) ?? '';
}

/** Returns a JSON-RPC message as an event of a stream. */
function eventOf(text: string): string {
  return `event: message\ndata: ${text}\n\n`;
}

function dataOf(event: string): string {
  return event
    .split(/\r?\n/)
    .flatMap((line) => /^data: ?(.*)$/.exec(line)?.[1] ?? [])
    .join('\n');
}
