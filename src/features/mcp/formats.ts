import { acceptedRanges } from '../../core/http/accepted-ranges.ts';

export const JSON_TYPE = 'application/json';
export const EVENT_STREAM = 'text/event-stream';
/** The Accept header that the protocol's package demands of every client. */
export const BOTH = `${JSON_TYPE}, ${EVENT_STREAM}`;

/** The forms of an answer that a client of MCP accepts. */
export interface McpFormats {
  readonly json: boolean;
  readonly stream: boolean;
  /** True if the client names a type of text, and so certainly reads streams. A wildcard may come from any client. */
  readonly isStreamNamed: boolean;
}

/** Reads an Accept header. A client without the header accepts everything. */
export function mcpFormats(accept: string | undefined): McpFormats {
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
export async function responseIn(stream: AsyncIterable<Uint8Array>): Promise<string> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of stream) chunks.push(chunk);
  const events = Buffer.concat(chunks)
    .toString('utf8')
    .split(/\r?\n\r?\n/);
  return events.map(dataOf).findLast((data) => data !== '' && 'id' in (JSON.parse(data) as object)) ?? '';
}

/** Returns a JSON-RPC message as an event of a stream. */
export function eventOf(text: string): string {
  return `event: message\ndata: ${text}\n\n`;
}

function dataOf(event: string): string {
  return event
    .split(/\r?\n/)
    .flatMap((line) => /^data: ?(.*)$/.exec(line)?.[1] ?? [])
    .join('\n');
}
