import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { type AppError, isAppError } from '../model/errors.ts';
import type { Clock } from '../model/ports/host-ports.ts';
import { problem } from '../model/problems.ts';

// Time limits for a body that is read as it arrives, such as an upload: in total, and between two chunks (decision R1).
const WHOLE_MS = 10 * 60_000;
const IDLE_MS = 30_000;
/** Time for which the client of a refused upload may continue to send, before its connection is closed. */
const REFUSED_MS = 30_000;

/**
 * For each connection, the latest request whose body has the limits `WHOLE_MS` and `IDLE_MS` instead of the server's.
 */
const arriving = new WeakMap<Duplex, IncomingMessage>();

/**
 * Reports whether a body with the limits `WHOLE_MS` and `IDLE_MS` is arriving on a connection. The server's request
 * timeout must then not end the connection.
 */
export function hasOwnTimeLimits(socket: Duplex): boolean {
  return arriving.get(socket)?.complete === false;
}

/**
 * Yields a body as it arrives, because it may be too large for memory. Throws `upload_encoded`, `request_timeout`,
 * `shutting_down` or `incomplete_body`.
 */
export async function* arrivingBody(
  request: IncomingMessage,
  clock: Clock,
  closing: AbortSignal,
): AsyncGenerator<Uint8Array, void> {
  const { headers, socket } = request;
  if ((headers['content-encoding'] ?? 'identity') !== 'identity') throw problem('upload_encoded');
  arriving.set(socket, request);
  const chunks = request.iterator({ destroyOnReturn: false })[Symbol.asyncIterator]();
  let fail: (reason: AppError) => void = () => {};
  const failed = new Promise<never>((_, reject) => {
    fail = reject;
  });
  failed.catch(() => {});
  const isLate = (): void => fail(problem('request_timeout'));
  const isClosing = (): void => fail(problem('shutting_down'));
  closing.addEventListener('abort', isClosing);
  if (closing.aborted) isClosing();
  const cancelWhole = clock.after(WHOLE_MS, isLate);
  let cancelIdle = clock.after(IDLE_MS, isLate);
  try {
    while (true) {
      const next = (await Promise.race([chunks.next(), failed])) as IteratorResult<Uint8Array>;
      cancelIdle();
      if (next.done === true) return;
      yield next.value;
      cancelIdle = clock.after(IDLE_MS, isLate);
    }
  } catch (error) {
    throw isAppError(error) ? error : problem('incomplete_body', {}, { cause: error });
  } finally {
    cancelWhole();
    cancelIdle();
    closing.removeEventListener('abort', isClosing);
    if (!request.complete) dropRest(request, clock);
  }
}

/**
 * Reads and discards the rest of the body, for at most `REFUSED_MS`. Closing a connection with unread input resets it,
 * so the client might lose the answer.
 */
function dropRest(request: IncomingMessage, clock: Clock): void {
  request.resume();
  const cancel = clock.after(REFUSED_MS, () => request.socket.destroy());
  request.once('close', cancel);
}
