import { JetStreamApiCodes, JetStreamApiError } from '@nats-io/jetstream';
import type { KV } from '@nats-io/kv';

/** Of one request to the broker. A write that takes longer may have happened, or happen yet. */
const TIMEOUT_MS = 2000;

/**
 * Writes an entry if its revision is still this one; 0: if there never was one. Gives the new revision, or undefined
 * when another write came first. Throws when it is not known whether it was written.
 */
export async function compareAndSet(
  bucket: KV,
  key: string,
  value: Uint8Array | string,
  revision: number,
): Promise<number | undefined> {
  try {
    return await bucket.put(key, value, { previousSeq: revision, timeout: TIMEOUT_MS });
  } catch (error) {
    if (isConflict(error)) return undefined;
    throw error;
  }
}

/** Deletes an entry if its revision is still this one; false when another write came first. */
export async function compareAndDelete(bucket: KV, key: string, revision: number): Promise<boolean> {
  try {
    await bucket.delete(key, { previousSeq: revision });
    return true;
  } catch (error) {
    if (isConflict(error)) return false;
    throw error;
  }
}

function isConflict(error: unknown): boolean {
  return (
    error instanceof JetStreamApiError &&
    (error.code === JetStreamApiCodes.StreamWrongLastSequence ||
      error.code === JetStreamApiCodes.StreamWrongLastSequenceUnknown)
  );
}
