import type { Readable } from 'node:stream';
import type { Clock } from '../model/ports/host-ports.ts';

/** Maximum number of bytes read from the body of an answer (decision F2). */
const MAX_BYTES = 64 * 1024;
/** Maximum number of chunks read: reading 64 kB byte by byte would keep the service busy. */
const MAX_CHUNKS = 1024;
/**
 * Longest time for reading a body. The status has already decided the outcome, so waiting would only delay the next
 * delivery.
 */
const MAX_MS = 1000;
/** Number of bytes of the body that are kept, to show what the receiver answered. */
const KEPT_BYTES = 4 * 1024;

/**
 * Reads the body of an answer so that its connection can be used again; destroys the connection if the body is too
 * large or too slow. Returns the beginning of the body. Never throws, because the status alone decides the outcome.
 */
export function readAnswerBody(body: Readable, clock: Clock): Promise<Buffer> {
  if (body.closed) return Promise.resolve(Buffer.alloc(0));
  return new Promise((resolve) => {
    const kept: Buffer[] = [];
    let bytes = 0;
    let chunks = 0;
    const cancel = clock.after(MAX_MS, () => body.destroy());
    body.on('data', (chunk: Buffer) => {
      if (bytes < KEPT_BYTES) kept.push(chunk.subarray(0, KEPT_BYTES - bytes));
      bytes += chunk.length;
      chunks += 1;
      if (bytes <= MAX_BYTES && chunks < MAX_CHUNKS) return;
      // Chunks that have arrived already would still be handed over.
      body.removeAllListeners('data');
      body.destroy();
    });
    const finish = (): void => {
      cancel();
      resolve(Buffer.concat(kept));
    };
    body.on('error', finish);
    body.on('end', finish);
    body.on('close', finish);
  });
}
