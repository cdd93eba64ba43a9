import type { Cancel, Clock } from '../core/model/ports/host-ports.ts';
import type { SocketDestination, SocketEvent } from './event-socket.ts';
import { has, noAnswer, notPostern, PosternError, parsed, refusal } from './postern-error.ts';
import { latin1Header } from './transport.ts';

/**
 * The service writes a line at least every 15 s (decision Q1). After this long without a line the connection is dead.
 */
const SILENCE_LIMIT_MS = 45_000;
const NDJSON = 'application/x-ndjson';

interface Body {
  readonly status: number;
  readonly type: string | null | undefined;
  readonly retryAfter: string | null | undefined;
  readonly chunks: AsyncIterable<Uint8Array>;
}

/**
 * Yields the events of one stream of `GET /events` until it ends. Throws PosternError if the stream is refused or
 * unreachable.
 */
export async function* eventLines(
  { url, socketPath, address }: SocketDestination,
  key: string,
  clock: Clock,
  signal: AbortSignal | undefined,
): AsyncGenerator<SocketEvent, void> {
  const stop = new AbortController();
  const abort = (): void => stop.abort();
  let cancelWatch: Cancel = () => {};
  const heard = (): void => {
    cancelWatch();
    cancelWatch = clock.after(SILENCE_LIMIT_MS, abort);
  };
  signal?.addEventListener('abort', abort, { once: true });
  if (signal?.aborted) abort();
  heard();
  try {
    const headers = { 'X-API-Key': latin1Header(key), Accept: NDJSON, Prefer: 'handling=strict' };
    const open = socketPath === undefined ? overNetwork : overSocket(socketPath);
    const { status, type, retryAfter, chunks } = await open(url, headers, stop.signal);
    // Version 0.1 of the service answers with one page instead of a stream.
    if (status === 200 && type !== NDJSON) throw notPostern(status, address);
    const decoder = new TextDecoder();
    let text = '';
    for await (const chunk of chunks) {
      heard();
      text += decoder.decode(chunk, { stream: true });
      if (status !== 200) continue;
      const lines = text.split('\n');
      text = lines.pop() ?? '';
      for (const line of lines) {
        const event = parsed(line) as SocketEvent | undefined;
        if (has(event, 'type') && event !== undefined) yield event;
        // A keep-alive has an offset but no type. Any other line without a type is not from Postern.
        else if (!has(event, 'offset')) throw notPostern(status, address);
      }
    }
    if (status !== 200) throw refusal(status, text, retryAfter, address);
  } catch (error) {
    if (error instanceof PosternError) throw error;
    if (!signal?.aborted) throw noAnswer(error, address);
  } finally {
    cancelWatch();
    signal?.removeEventListener('abort', abort);
    abort();
  }
}

async function overNetwork(url: URL, headers: Readonly<Record<string, string>>, signal: AbortSignal): Promise<Body> {
  const response = await fetch(url, { headers, redirect: 'manual', signal });
  return {
    status: response.status,
    type: response.headers.get('content-type'),
    retryAfter: response.headers.get('retry-after'),
    chunks: (response.body ?? []) as AsyncIterable<Uint8Array>,
  };
}

function overSocket(socketPath: string): typeof overNetwork {
  return async ({ pathname, search }, headers, signal) => {
    const { request } = await import('node:http');
    return new Promise((resolve, reject) => {
      const sent = request({ socketPath, path: pathname + search, headers, agent: false, signal }, (response) =>
        resolve({
          status: response.statusCode ?? 0,
          type: response.headers['content-type'],
          retryAfter: response.headers['retry-after'],
          chunks: response,
        }),
      );
      sent.on('error', reject);
      sent.end();
    });
  };
}
