import type { Readable } from 'node:stream';
import type { Clock } from '../../domain/ports/host.ts';

/** Decision F2: at most this much of an answer is read. */
const MAX_BYTES = 64 * 1024;
/** The head has decided; a body that takes longer would only delay the next delivery. */
const MAX_MS = 1000;
/** As much of it is kept to show what the receiver said. */
const KEPT_BYTES = 4 * 1024;

/**
 * Reads the body of an answer so that its connection can be used again; one that is too large or too slow
 * has its connection destroyed. Returns the beginning of it. Never throws: the head alone decides (decision F2).
 */
export function readResponseBody(body: Readable, clock: Clock): Promise<Buffer> {
  if (body.closed) return Promise.resolve(Buffer.alloc(0));
  return new Promise((resolve) => {
    const kept: Buffer[] = [];
    let bytes = 0;
    const cancel = clock.after(MAX_MS, () => body.destroy());
    body.on('data', (chunk: Buffer) => {
      if (bytes < KEPT_BYTES) kept.push(chunk.subarray(0, KEPT_BYTES - bytes));
      bytes += chunk.length;
      if (bytes > MAX_BYTES) body.destroy();
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
