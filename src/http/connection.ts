import { randomUUID } from 'node:crypto';
import type { IncomingMessage, Server } from 'node:http';
import type { Duplex } from 'node:stream';
import { AppError, errorCode } from '../domain/errors.ts';
import { complete, rawAnswer } from './answer.ts';
import { type ExchangeContext, endSocket } from './exchange.ts';
import { problemAnswer } from './problem.ts';

/** Answers what never became a request: Node's parser gave up on it or ran out of time, or it was a CONNECT. */
export function refuseUnreadable(context: ExchangeContext, socket: Duplex, error?: unknown): void {
  const code = errorCode(error);
  // The parser complains again about whatever still arrives.
  if (!socket.writable) return;
  const requestId = randomUUID();
  const headers = { 'X-Content-Type-Options': 'nosniff', 'Cache-Control': 'no-store', 'X-Request-Id': requestId };
  const answer = problemAnswer(refusal(error === undefined ? 'CONNECT' : code));
  endSocket(socket, rawAnswer(answer.status, headers, complete(answer, headers)), context.clock);
  context.log.info('request', { requestId, route: '-', status: answer.status, reason: code ?? 'CONNECT' });
}

/** By the codes of Node's HTTP server and its parser. */
function refusal(code: string | undefined): AppError {
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') {
    return new AppError('timeout', 'request_timeout', 'The request did not arrive in time.');
  }
  if (code === 'HPE_HEADER_OVERFLOW') {
    return new AppError('headers_too_large', 'headers_too_large', 'The URL and the headers must not exceed 16 KiB.');
  }
  if (code === 'HPE_CHUNK_EXTENSIONS_OVERFLOW') {
    return new AppError('too_large', 'body_too_large', 'The chunk extensions of the body are too large.');
  }
  if (code === 'CONNECT') return new AppError('invalid', 'invalid_request', 'This service is no proxy.');
  return new AppError('invalid', 'invalid_http', 'The request is not valid HTTP.');
}

/**
 * Gives a request back to the server without the upgrade it offered, and so ignores the offer (RFC 9110, 7.8).
 * Java's HttpClient and `curl --http2` offer h2c with any request; Node leaves such a request to whoever listens
 * for upgrades, its body unread.
 */
export function withoutUpgrade(server: Server, request: IncomingMessage, socket: Duplex, head: Buffer): void {
  const { method = 'GET', url = '/', httpVersion, rawHeaders } = request;
  const lines = [`${method} ${url} HTTP/${httpVersion}`];
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index] ?? '';
    if (/^(?:upgrade|http2-settings)$/i.test(name)) continue;
    const value = rawHeaders[index + 1] ?? '';
    lines.push(`${name}: ${/^connection$/i.test(name) ? aboutConnection(value) : value}`);
  }
  socket.unshift(Buffer.concat([Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1'), head]));
  server.emit('connection', socket);
}

/** What a Connection header says of the connection itself, the offer left out. */
function aboutConnection(options: string): string {
  return options.match(/\b(?:close|keep-alive)\b/gi)?.join(', ') ?? '';
}
