import { type ClientRequest, request as httpRequest, type IncomingMessage, type RequestOptions } from 'node:http';
import { request as httpsRequest } from 'node:https';

/**
 * Passed to axios as its `transport`, because axios leaves two answers to Node: 101, for which Node destroys the
 * connection without an answer, and `HTTP/1.1 000`, whose status of 0 axios takes for a success.
 */
export const transport = {
  request(options: RequestOptions, onResponse: (response: IncomingMessage) => void): ClientRequest {
    const open = options.protocol === 'https:' ? httpsRequest : httpRequest;
    const request = open(options, (response) => {
      if (response.statusCode !== 0) onResponse(response);
      else request.destroy(Object.assign(new Error('status 000'), { code: 'HPE_INVALID_STATUS' }));
    });
    request.once('upgrade', (response, socket) => {
      socket.destroy();
      onResponse(response);
    });
    return request;
  },
};

/** The same with headers of the owner's own (decision P2), which axios would read as if they were meant for it. */
export function transportWith(headers: Readonly<Record<string, string>>): typeof transport {
  return {
    request: (options, onResponse) =>
      transport.request({ ...options, headers: { ...options.headers, ...headers } }, onResponse),
  };
}
