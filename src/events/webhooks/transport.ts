import { type ClientRequest, request as httpRequest, type IncomingMessage, type RequestOptions } from 'node:http';
import { request as httpsRequest } from 'node:https';
import type { Clock } from '../../domain/ports/host.ts';

export interface TransportOptions {
  readonly clock: Clock;
  /** How long one attempt may take until the head of an answer is there (decision F2). */
  readonly timeoutMs: number;
  /** The owner's own headers (decision P2), which axios would take for its settings. */
  readonly headers: Readonly<Record<string, string>>;
}

/** The `transport` of axios. Makes one attempt. */
export interface WebhookTransport {
  request(options: RequestOptions, onResponse: (response: IncomingMessage) => void): ClientRequest;
}

/**
 * Returns a transport that does what axios does not. Its time limit holds for the whole attempt; axios' own measures
 * silence. A 101 is an answer; Node would close the connection without one. The status of `HTTP/1.1 000` is an error;
 * axios takes a status of 0 for success.
 */
export function transport({ clock, timeoutMs, headers }: TransportOptions): WebhookTransport {
  return {
    request(options, onResponse) {
      const open = options.protocol === 'https:' ? httpsRequest : httpRequest;
      const request = open({ ...options, headers: { ...options.headers, ...headers } }, (response) => {
        cancelTimeout();
        if (response.statusCode !== 0) onResponse(response);
        else request.destroy(failure('HPE_INVALID_STATUS', 'The status is 000.'));
      });
      const cancelTimeout = clock.after(timeoutMs, () =>
        request.destroy(failure('no_answer', `The receiver did not answer within ${timeoutMs / 1000} s.`)),
      );
      request.once('close', cancelTimeout);
      request.once('upgrade', (response, socket) => {
        socket.destroy();
        onResponse(response);
      });
      return request;
    },
  };
}

function failure(code: string, message: string): Error {
  return Object.assign(new Error(message), { code });
}
