import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { type AppError, isAppError } from '../../domain/errors.ts';
import type { Clock } from '../../domain/ports/host-ports.ts';
import { problem } from '../../domain/problems.ts';

// Time limits for a body that is read as it arrives (decision R1).
const WHOLE_MS = 10 * 60_000;
const IDLE_MS = 30_000;
/** Time for which a refused client may continue to send. */
const REFUSED_MS = 30_000;

/** By connection: the latest request whose body has the time limits above instead of the usual ones. */
const arriving = new WeakMap<Duplex, IncomingMessage>();

/** Reports whether the usual time limits are suspended on this connection. */
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

/** Reads and discards the rest for a while. Closing a connection with unread input could lose the answer. */
function dropRest(request: IncomingMessage, clock: Clock): void {
  request.resume();
  const cancel = clock.after(REFUSED_MS, () => request.socket.destroy());
  request.once('close', cancel);
}
