import { randomUUID } from 'node:crypto';
import type { IncomingMessage, Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import { errorCode, isAppError } from '../model/errors.ts';
import { problem } from '../model/problems.ts';
import { completeAnswer, rawAnswer } from './answer.ts';
import { type ExchangeContext, endSocket } from './exchange.ts';
import { problemAnswer } from './problem-answer.ts';

/**
 * Maximum number of header lines. Thousands of one-letter headers would stay within Node's byte limit, but take ten
 * times that much memory.
 */
export const MAX_HEADER_LINES = 200;

export interface HttpTimeouts {
  readonly headersMs: number;
  readonly requestMs: number;
  /** Interval at which Node checks the connections for `headersMs` and `requestMs`. */
  readonly checkMs: number;
}

export function hasTooManyHeaders({ rawHeaders }: IncomingMessage): boolean {
  return rawHeaders.length / 2 > MAX_HEADER_LINES;
}

/**
 * Answers input that does not reach the router, and closes the connection. `error` is the error of Node's parser or the
 * AppError to answer with; it is undefined for a CONNECT.
 */
export function refuseUnreadable(context: ExchangeContext, socket: Duplex, error?: unknown): void {
  const code = errorCode(error);
  // Node's parser reports its error again for each later chunk, after the socket has been answered and ended.
  if (!socket.writable) return;
  const requestId = randomUUID();
  const headers = { 'X-Content-Type-Options': 'nosniff', 'Cache-Control': 'no-store', 'X-Request-Id': requestId };
  const known = REFUSALS[(error === undefined ? 'CONNECT' : code) as keyof typeof REFUSALS] ?? 'invalid_http';
  const answer = problemAnswer(isAppError(error) ? error : problem(known));
  endSocket(socket, rawAnswer(answer.status, headers, completeAnswer(answer, headers)), context.clock);
  context.log.info('request', { requestId, route: '-', status: answer.status, reason: code ?? 'CONNECT' });
}

/**
 * The problems to answer with. Key: an error code of Node's HTTP server or of its parser, or the method CONNECT. Every
 * other error code is answered with `invalid_http`.
 */
const REFUSALS = {
  ERR_HTTP_REQUEST_TIMEOUT: 'request_timeout',
  HPE_HEADER_OVERFLOW: 'headers_too_large',
  HPE_CHUNK_EXTENSIONS_OVERFLOW: 'chunk_extensions_too_large',
  CONNECT: 'connect_not_supported',
} as const;

/**
 * Puts a request back into its socket without its Upgrade header, so that Node parses it again as a plain request. A
 * server may ignore an offered upgrade (RFC 9110, 7.8). Java's HttpClient and `curl --http2` offer h2c with any
 * request; Node hands such a request to the upgrade listener with its body unread. `target` and Host stay as they came:
 * what is decided by the Host that the client wrote must be decided the same way again.
 */
export function withoutUpgrade(request: IncomingMessage, target: string, socket: Duplex, head: Buffer): void {
  const { method = 'GET', httpVersion, rawHeaders } = request;
  const lines = [`${method} ${target} HTTP/${httpVersion}`];
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const [name = '', value = ''] = rawHeaders.slice(index, index + 2);
    if (/^(?:upgrade|http2-settings)$/i.test(name)) continue;
    lines.push(`${name}: ${/^connection$/i.test(name) ? aboutConnection(value) : value}`);
  }
  socket.unshift(Buffer.concat([Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1'), head]));
}

/** Returns the options `close` and `keep-alive` of a Connection header. Drops all others, such as `Upgrade`. */
function aboutConnection(options: string): string {
  return options.match(/\b(?:close|keep-alive)\b/gi)?.join(', ') ?? '';
}

/** Reports whether a request is a WebSocket handshake at `path`. */
export function isHandshake({ method, headers, url = '' }: IncomingMessage, path: string): boolean {
  return method === 'GET' && headers.upgrade?.toLowerCase() === 'websocket' && url.split('?', 1)[0] === path;
}

export interface BaseAddress {
  /** Without a path. */
  readonly url: string;
  /** True if only this machine can reach the address. */
  readonly isLoopback: boolean;
}

export function baseAddressOf(server: Server): BaseAddress {
  const { address, family, port } = server.address() as AddressInfo;
  const reachable = address === '0.0.0.0' ? '127.0.0.1' : address === '::' ? '::1' : address;
  return {
    url: `http://${family === 'IPv6' ? `[${reachable}]` : reachable}:${port}`,
    isLoopback: /^(?:127\.|::1$|::ffff:127\.)/.test(address),
  };
}

/** Returns where a server listens: one address, or none for a Unix socket and a server that is closed. */
export function listeningAt(server: Server): readonly AddressInfo[] {
  const address = server.address();
  return typeof address === 'object' && address !== null ? [address] : [];
}
