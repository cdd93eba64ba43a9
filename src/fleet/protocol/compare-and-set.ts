import { JetStreamApiCodes, JetStreamApiError } from '@nats-io/jetstream';
import type { KV } from '@nats-io/kv';

/** Limit for one request to the broker. A write that takes longer may have happened, or may happen later. */
const TIMEOUT_MS = 2000;

/**
 * Writes an entry if its revision is still this one; 0 means that it never existed. Returns the new revision, or
 * undefined if another write came first. Throws when the outcome is unknown.
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

/** The server's codes for storage, or memory, that is used up. */
const FULL: ReadonlySet<unknown> = new Set([10023, 10028, 10047]);

/** Reports whether the server refused a message for want of storage. */
export function isFull(error: unknown): boolean {
  return error instanceof JetStreamApiError && FULL.has(error.code);
}

function isConflict(error: unknown): boolean {
  return (
    error instanceof JetStreamApiError &&
    (error.code === JetStreamApiCodes.StreamWrongLastSequence ||
      error.code === JetStreamApiCodes.StreamWrongLastSequenceUnknown)
  );
}
