import { type ClientRequest, request as httpRequest, type IncomingMessage, type RequestOptions } from 'node:http';
import { request as httpsRequest } from 'node:https';
import type { LookupFunction } from 'node:net';
import type { Clock } from '../model/ports/host-ports.ts';
import { limitInterimAnswers } from '../runtime/interim-answers.ts';

interface TransportParts {
  readonly clock: Clock;
  /** Milliseconds within which the status and headers of an attempt's answer must arrive (decision F2). */
  readonly timeoutMs: number;
  /** The owner's headers (decision P2). Passed separately, because axios would read some as its own settings. */
  readonly headers: Readonly<Record<string, string>>;
  /** Looks the host up for this attempt alone, on a connection that no other receiver shares. */
  readonly lookup?: LookupFunction | undefined;
}

/** A `transport` of axios, which makes one attempt. */
interface WebhookTransport {
  request(options: RequestOptions, onResponse: (response: IncomingMessage) => void): ClientRequest;
}

/**
 * Returns a transport that corrects axios in four points. The time limit covers the whole attempt, not only silence. A
 * status of 101 counts as an answer; by default, Node would close the connection and report no answer. A status of 000
 * is an error; axios would accept it as a success. An answer that begins with endless interim answers is an error, too.
 */
export function transport({ clock, timeoutMs, headers, lookup }: TransportParts): WebhookTransport {
  return {
    request(options, onResponse) {
      const open = options.protocol === 'https:' ? httpsRequest : httpRequest;
      const alone = lookup === undefined ? {} : { agent: false as const, lookup };
      const request = open({ ...options, ...alone, headers: { ...options.headers, ...headers } }, (response) => {
        cancelTimeout();
        if (response.statusCode !== 0) onResponse(response);
        else request.destroy(failure('HPE_INVALID_STATUS', 'The status is 000.'));
      });
      const cancelTimeout = clock.after(timeoutMs, () =>
        request.destroy(failure('no_answer', `The receiver did not answer within ${timeoutMs / 1000} s.`)),
      );
      request.once('close', cancelTimeout);
      limitInterimAnswers(request, failure('interim_answers', 'There is no end of interim answers.'));
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
