/** What a client's `Idempotency-Key` must match, and the sentence for one that does not (decision D9). */
export const IDEMPOTENCY_KEY = /^[\x20-\x7e]{1,255}$/;
export const IDEMPOTENCY_KEY_RULE = 'The header `Idempotency-Key` must be 1 to 255 printable ASCII characters.';

/** Identifies a send that must happen at most once (decision D9). */
export interface IdempotencyKey {
  /**
   * `client`: the `Idempotency-Key` of a request. Postern itself makes the keys of all other kinds, a feature those of
   * its name.
   */
  readonly kind: string;
  readonly key: string;
}

/**
 * Returns the form in which state.db stores the key. A client's key is stored unchanged. Any other key is prefixed with
 * its kind between two NULs, so that it never equals a client's key.
 */
export function storedKey({ kind, key }: IdempotencyKey): string {
  return kind === 'client' ? key : `\0${kind}\0${key}`;
}

/** Returns the client's key from its stored form; undefined if the key is one of Postern's own. */
export function clientKey(stored: string): string | undefined {
  return stored.startsWith('\0') ? undefined : stored;
}
