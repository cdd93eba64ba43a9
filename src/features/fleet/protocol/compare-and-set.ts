import { JetStreamApiCodes, JetStreamApiError } from '@nats-io/jetstream';
import type { KV } from '@nats-io/kv';

/** Time limit for one request to the broker, in milliseconds. A slower write may have happened, or may still happen. */
const TIMEOUT_MS = 2000;

/**
 * Writes an entry if its revision is still `revision`. For an entry that never existed, `revision` is 0. Returns the
 * new revision, or undefined if another write came first. Throws if the outcome is unknown.
 */
export async function compareAndSet(
  bucket: KV,
  key: string,
  value: Uint8Array,
  revision: number,
): Promise<number | undefined> {
  try {
    return await bucket.put(key, value, { previousSeq: revision, timeout: TIMEOUT_MS });
  } catch (error) {
    if (isConflict(error)) return undefined;
    throw error;
  }
}

/** The server's codes for exhausted storage or memory. */
const FULL: ReadonlySet<unknown> = new Set([10023, 10028, 10047]);

/** Reports whether the server refused a message because its storage is full. */
export function isFull(error: unknown): boolean {
  return error instanceof JetStreamApiError && FULL.has(error.code);
}

/** Reports whether the server refused a message because its predecessor is not the expected one. */
export function isConflict(error: unknown): boolean {
  return (
    error instanceof JetStreamApiError &&
    (error.code === JetStreamApiCodes.StreamWrongLastSequence ||
      error.code === JetStreamApiCodes.StreamWrongLastSequenceUnknown)
  );
}
