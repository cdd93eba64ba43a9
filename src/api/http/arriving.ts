import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { type AppError, isAppError } from '../../domain/errors.ts';
import type { Clock } from '../../domain/ports/host-ports.ts';
import { problem } from '../../domain/problems.ts';

// Time limits of decision R1: longer than for other requests, as long as the body progresses.
const WHOLE_MS = 10 * 60_000;
const IDLE_MS = 30_000;
/** How long a refused client may continue to send. */
const REFUSED_MS = 30_000;

/** The request, on each connection, whose body has its own time limits. */
const arriving = new WeakMap<Duplex, IncomingMessage>();

/** Reports whether the usual time limits are suspended on this connection. */
export function hasOwnTimeLimits(socket: Duplex): boolean {
  return arriving.get(socket)?.complete === false;
}

/** Yields the body as it arrives, for bodies too large for memory. Throws if the body stops arriving. */
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

/** Reads and discards the rest for a while, because closing now could cost the client the answer. */
function dropRest(request: IncomingMessage, clock: Clock): void {
  request.resume();
  const cancel = clock.after(REFUSED_MS, () => request.socket.destroy());
  request.once('close', cancel);
}
