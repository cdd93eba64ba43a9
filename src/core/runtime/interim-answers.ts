import type { ClientRequest } from 'node:http';

/** Maximum number of interim answers (1xx) to one request. Reading more would keep the service busy. */
const MAX_INTERIM = 32;

/** Ends a request with this error if its server sends interim answers without end. */
export function limitInterimAnswers(request: ClientRequest, error: Error): void {
  let count = 0;
  const onInterim = (): void => {
    count += 1;
    if (count > MAX_INTERIM) request.destroy(error);
  };
  request.on('continue', onInterim).on('information', onInterim);
}
